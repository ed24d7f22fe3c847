/// The distance function that compares two vectors.
package enum SimilarityMethod: String, Sendable, CaseIterable {
    case l2 = "L2"
    case cosine = "COSINE"
    case innerProduct = "INNER_PRODUCT"

    /// The default for indexes and searches.
    package static let `default` = SimilarityMethod.innerProduct

    /// The pgvector operator.
    package var symbol: String {
        switch self {
        case .l2: "<->"
        case .cosine: "<=>"
        case .innerProduct: "<#>"
        }
    }

    package var operatorClass: String {
        switch self {
        case .l2: "vector_l2_ops"
        case .cosine: "vector_cosine_ops"
        case .innerProduct: "vector_ip_ops"
        }
    }
}
