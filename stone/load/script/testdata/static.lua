-- A script that only changes the request's parts: wrk calls nothing of it while it runs.
wrk.method = "POST"
wrk.body   = "foo=bar&baz=quux"
wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
