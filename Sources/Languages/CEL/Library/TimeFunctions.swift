/// Accessors for parts of timestamps and durations (langdef "Timestamps and Durations"). For a duration, hours, minutes
/// and seconds give its whole length in that unit; milliseconds give the part below a second.
enum TimeFunctions {
    static func part(
        _ function: StandardFunction, of value: Value, zone: Value?
    ) throws(EvaluationError) -> Int64 {
        switch value {
        case .timestamp(let timestamp):
            var offsetSeconds = 0
            if let zone {
                guard case .string(let name) = zone else { throw EvaluationError(.noSuchOverload) }
                guard let offset = TimeZones.offsetSeconds(of: name, at: timestamp) else {
                    throw EvaluationError(.invalidArgument)
                }
                offsetSeconds = offset
            }
            return Int64(try part(function, of: timestamp, offsetSeconds: offsetSeconds))
        case .duration(let duration) where zone == nil: return try part(function, of: duration)
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private static func part(
        _ function: StandardFunction, of timestamp: TimestampValue, offsetSeconds: Int
    ) throws(EvaluationError) -> Int {
        let local = LocalTime(timestamp, offsetSeconds: offsetSeconds)
        switch function {
        case .getFullYear: return local.date.year
        case .getMonth: return local.date.month - 1
        case .getDate: return local.date.day
        case .getDayOfMonth: return local.date.day - 1
        case .getDayOfWeek: return local.date.dayOfWeek
        case .getDayOfYear: return local.date.dayOfYear
        case .getHours: return local.hour
        case .getMinutes: return local.minute
        case .getSeconds: return local.second
        case .getMilliseconds: return Int(timestamp.nanoseconds / 1_000_000)
        default: throw EvaluationError(.noSuchOverload)
        }
    }

    private static func part(_ function: StandardFunction, of duration: DurationValue) throws(EvaluationError) -> Int64
    {
        let seconds = duration.nanoseconds / DurationValue.perSecond
        switch function {
        case .getHours: return seconds / 3_600
        case .getMinutes: return seconds / 60
        case .getSeconds: return seconds
        case .getMilliseconds: return duration.nanoseconds / 1_000_000 % 1_000
        default: throw EvaluationError(.noSuchOverload)
        }
    }
}
