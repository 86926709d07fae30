module loadstone.dev/stone

go 1.26
