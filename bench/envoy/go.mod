module tessera/bench/envoy

go 1.25
