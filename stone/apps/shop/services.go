// Package shop is the system under test of a study of virtualisation by distributed tracing (Vinken, Amsterdam 2022): three
// services that speak HTTP, one call after the other, each with its own PostgreSQL. Written from published facts; what the
// study leaves open is a parameter.
package shop

import (
	"loadstone.dev/stone/platform/config"
	"loadstone.dev/stone/platform/service"
)

// Services are the services by name.
var Services = map[string]service.Definition{
	"order": {
		Summary: "creates orders: files, then user and payment, then a row",
		Wants: config.Wants{
			Needs: []string{"user", "payment"}, Tables: true, Data: true,
			Tasks: []config.Task{config.LargeFile, config.SmallFile, config.SmallRounds, config.Sync, config.Keep},
		},
		Start: startOrder,
	},
	"user": {
		Summary: "users and their balances",
		Wants:   config.Wants{Tables: true, Tasks: []config.Task{config.Linpack}},
		Start:   startUser,
	},
	"payment": {
		Summary: "transfers amounts from users' balances",
		Wants:   config.Wants{Needs: []string{"user"}, Tables: true, Tasks: []config.Task{config.Linpack, config.Sleep}},
		Start:   startPayment,
	},
}

// The routes, which name the spans of servers and of those who call them.
const (
	createRoute   = "/orders/create/id/{id}"
	userRoute     = "/users/{id}"
	putRoute      = "/put_users/{id}"
	transferRoute = "/payment/transfer/id/{id}/amount/{amount}"
	filesRoute    = "/files"
)
