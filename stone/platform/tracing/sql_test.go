package tracing

import "testing"

func TestStatementsAreNamedByVerbAndTable(t *testing.T) {
	for statement, want := range map[string][2]string{
		"SELECT name, balance FROM users WHERE id = $1":         {"select", "users"},
		"UPDATE users SET balance = balance - $2 WHERE id = $1": {"update", "users"},
		"\n\tinsert INTO orders (id) VALUES ($1)":               {"insert", "orders"},
		"-- ping":     {"--", ""},
		"SELECT 1":    {"select", ""},
		"DELETE FROM": {"delete", ""},
		"":            {"query", ""},
	} {
		if verb, table := summary(statement); verb != want[0] || table != want[1] {
			t.Errorf("%q is %q %q", statement, verb, table)
		}
	}
}
