import Testing
@testable import SchemaModel

@Suite struct DataTypeTests {
    @Test(
        arguments: [
            ("float(1)", "real"), ("float(24)", "real"), ("FLOAT (25)", "double precision"),
            ("float(53)", "double precision"), ("float(0)", nil), ("float(54)", nil), ("float(3,1)", nil),
            ("float4(3)", nil), ("double precision(3)", nil), ("bit(8)", "bit(8)"), ("bit", "bit(1)"), ("bit(0)", nil),
            ("varbit(83886080)", "bit varying(83886080)"), ("bit varying (5)", "bit varying(5)"),
            ("interval(3)", "interval(3)"), ("interval(9)", "interval(6)"),
            ("interval day to second(3)", "interval day to second(3)"), ("interval second(0)", "interval second(0)"),
            ("interval year to month", "interval year to month"), ("interval year(3)", nil),
            ("timestamptz(6)", "timestamp(6) with time zone"), ("timestamptz(7)", "timestamp(6) with time zone"),
            ("timestamp(0) without time zone", "timestamp(0) without time zone"), ("timestamp(-1)", nil),
            ("time(3)", "time(3) without time zone"), ("timetz(3)", "time(3) with time zone"),
            ("time (9) with time zone", "time(6) with time zone"), ("time(1,2)", nil),
            ("numeric(10,2)", "numeric(10,2)"),
            ("numeric(3,-2)", "numeric(3,-2)"), ("dec(3,5)", "numeric(3,5)"), ("numeric(0)", nil),
            ("numeric(1001)", nil), ("varchar(0)", nil), ("varchar(10485761)", nil),
            ("varchar(99999999999999999999)", nil), ("national character varying(4)", "character varying(4)"),
            ("nchar(4)", "character(4)"), ("national char", "character(1)"), ("date(3)", nil),
            ("bpchar", "bpchar"), ("BPCHAR (4)", "character(4)"), ("bpchar(0)", nil), ("bpchar(4,1)", nil),
        ] as [(String, String?)])
    func dataTypesTakeTheParametersOfPostgres(_ text: String, name: String?) {
        let type = ColumnDataType(text, for: ColumnType(.string))
        #expect(type?.name == name && type?.isKnown != false)
    }
}
