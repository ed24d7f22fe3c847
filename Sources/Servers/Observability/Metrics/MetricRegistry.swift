/// Families by name, series by their labels. Not synchronised: `PrometheusMetrics` guards it with a lock.
struct MetricRegistry {
    enum Outcome<Series: Sendable>: Sendable {
        case found(Series)
        case full
        case otherKind
    }

    struct Family {
        let name: String
        let kind: MetricKind
        var series: [String: any MetricSeries] = [:]
    }

    private var families: [String: Family] = [:]
    /// Name and labels of each series, and how many of its handlers have been created and not destroyed.
    private var uses: [ObjectIdentifier: (name: String, labels: String, count: Int)] = [:]

    mutating func find<Series: MetricSeries>(
        name: String, kind: MetricKind, labels: String, seriesMax: Int, make: @Sendable () -> Series
    ) -> Outcome<Series> {
        if let family = families[name] {
            guard family.kind == kind else { return .otherKind }
            if let known = family.series[labels] {
                guard let series = known as? Series else { return .otherKind }
                uses[ObjectIdentifier(series)]?.count += 1
                return .found(series)
            }
        }
        guard uses.count < seriesMax else { return .full }
        let series = make()
        families[name, default: Family(name: name, kind: kind)].series[labels] = series
        uses[ObjectIdentifier(series)] = (name, labels, 1)
        return .found(series)
    }

    /// Removes the series when its last handler is destroyed.
    mutating func release(_ identifier: ObjectIdentifier) {
        guard let use = uses[identifier] else { return }
        guard use.count == 1 else {
            uses[identifier]?.count -= 1
            return
        }
        uses[identifier] = nil
        families[use.name]?.series[use.labels] = nil
        if families[use.name]?.series.isEmpty == true { families[use.name] = nil }
    }

    func sorted() -> [(name: String, kind: MetricKind, series: [(String, any MetricSeries)])] {
        families.values.sorted { $0.name < $1.name }.map { family in
            (
                family.name, family.kind,
                family.series.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
            )
        }
    }
}

enum MetricKind: String {
    case counter, gauge, histogram
}
