import FreshetTypes
import JSON
import LiveModel

/// The results of simulated Postgres as JSON, with rows: `{"identity":"op|…|","rows":[{"id":"e0","version":3}],
/// "life":0}`. Clients that are sent text messages get them in this form.
enum SimulatedDocument {
    static let shape: EntityShape = .object(["rows": .entity("Row", key: ["id"])])

    private static let rowIDs = Set(
        SimulatedPostgres.entities + Workload.outsideEntities + [Workload.rareEntity])

    static func json(_ body: [UInt8]) -> JSONValue {
        let text = String(decoding: body, as: UTF8.self)
        let versions = text.split(separator: "|").last ?? ""
        var object: JSONObject = ["identity": .string(String(text.dropLast(versions.count)))]
        var rows: [JSONValue] = []
        for pair in versions.split(separator: ",") {
            let parts = pair.split(separator: "=").map(String.init)
            let number = JSONValue.int(Int64(parts[1]) ?? 0)
            if rowIDs.contains(parts[0]) {
                rows.append(["id": .string(parts[0]), "version": number])
            } else {
                object[parts[0]] = number
            }
        }
        object["rows"] = .array(rows)
        return .object(object)
    }
}
