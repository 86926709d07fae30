package shop_test

import (
	"testing"

	"loadstone.dev/stone/platform/tables"
)

// Another payment comes between the two statements of one: the answer tells what is stored after both.
func TestAnAnswerTellsTheBalanceThatIsStored(t *testing.T) {
	s := start(t, "", nil)
	pool, err := tables.Open(t.Context(), s.Documents, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(t.Context(), `CREATE FUNCTION another() RETURNS trigger LANGUAGE plpgsql
		AS $$ BEGIN NEW.balance := NEW.balance - 5; RETURN NEW; END $$;
		CREATE TRIGGER another BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION another()`); err != nil {
		t.Fatal(err)
	}
	const want = `{"id":3,"name":"user 3","balance":965}`
	if status, answer := s.ask("user", "PUT", "/put_users/3?amount=30", nil); status != 200 || answer != want || s.balance(3) != 965 {
		t.Error(status, answer)
	}
}
