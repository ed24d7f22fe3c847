import Foundation
public import FreshetClient

/// A server's answer with errors, instead of a result or beside a partial one. Source: SDK specification §2.
public struct OperationFailureResponse: Sendable, Hashable {
    public struct ErrorInfo: Sendable, Hashable {
        public let message: String
        /// The place in the data.
        public let path: [DataConnectPathSegment]
    }

    private let partialData: AnyValue
    public let errors: [ErrorInfo]

    init(_ error: FreshetError) {
        partialData = error.partialData ?? .null
        errors = error.errors.map { error in
            ErrorInfo(message: error.message, path: error.path.compactMap(DataConnectPathSegment.init))
        }
    }

    /// The data as a JSON text; `null` without any.
    public var rawJsonData: String { partialData.jsonText }

    /// The data as a generated type; nil if there are none or they do not fit.
    public func data<Value: OperationData>(asType type: Value.Type) -> Value? { try? Value(result: partialData) }

    /// The data as a type of the app's own; nil if there are none or they do not fit.
    public func data<Value: Decodable>(asType type: Value.Type) -> Value? {
        partialData.isNull ? nil : try? partialData.decodeValue(type)
    }
}

/// A step from data to a part of them.
public enum DataConnectPathSegment: Sendable, Hashable {
    case field(String)
    case listIndex(Int)

    init?(_ segment: AnyValue) {
        if let name = segment.stringValue {
            self = .field(name)
        } else if let index = segment.intValue.flatMap(Int.init(exactly:)) {
            self = .listIndex(index)
        } else {
            return nil
        }
    }
}

extension FreshetError {
    /// The server's answer; nil if there was none, or the fault is on this side.
    public var response: OperationFailureResponse? { errors.isEmpty ? nil : OperationFailureResponse(self) }
}
