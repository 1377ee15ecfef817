module tessera/edge-visitor

go 1.19
