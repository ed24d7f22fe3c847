import Benchmarks

try await FanoutBenchmark.run()
