import Catalog
import Logging

extension ServiceNode {
    /// Once, at the start: each such operation answers with an error.
    func warnOfEmbeddings(in catalog: Catalog) {
        let operations = catalog.connectors.values.flatMap(\.operations.values).filter(\.hasEmbeddings)
        guard !operations.isEmpty else { return }
        logger.warning(
            "operations need vectors of texts, but embeddings.url is not set",
            metadata: ["operations": "\(operations.map { "\($0.reference)" }.sorted().joined(separator: ", "))"])
    }
}
