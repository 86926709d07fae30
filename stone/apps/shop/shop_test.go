package shop_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/apps/shop"
	"loadstone.dev/stone/apps/shop/seed"
	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/seeding"
	"loadstone.dev/stone/platform/servertest"
	"loadstone.dev/stone/platform/tracing/tracetest"
)

// running is the whole shop in this process, over a real PostgreSQL.
type running struct {
	*apptest.App
	t       *testing.T
	data    string
	dataset string
}

const users = 50

// start may change variables of services, "service.VARIABLE".
func start(t *testing.T, collector string, changes map[string]string) running {
	t.Helper()
	data := t.TempDir()
	set := map[string]map[string]string{
		"order": {
			"STONE_DATA": data, "STONE_TASK_LARGE_FILE": "100000", "STONE_TASK_SMALL_FILE": "140",
			"STONE_TASK_SMALL_ROUNDS": "10", "STONE_TASK_SYNC": "false", "STONE_TASK_KEEP": "true",
		},
		"user":    {"STONE_TASK_LINPACK": "30"},
		"payment": {"STONE_TASK_LINPACK": "20", "STONE_TASK_SLEEP": "0s"},
	}
	for name, value := range changes {
		service, variable, _ := strings.Cut(name, ".")
		set[service][variable] = value
	}
	data = set["order"]["STONE_DATA"]
	app := apptest.StartSet(t, set, collector, "shop", shop.Services, "", servertest.Postgres)
	s := running{app, t, data, fmt.Sprintf(`{"users": %d, "balance": 1000}`, users)}
	s.seed(seeding.Fill)
	app.WaitReady()
	return s
}

func (s running) seed(mode seeding.Mode) seeding.Result {
	s.t.Helper()
	plan := seeding.Plan{Stores: map[string]string{}, Dataset: json.RawMessage(s.dataset), Entry: []string{s.Replica("order").Listen}}
	for name := range shop.Services {
		plan.Stores["postgres-"+name] = s.Documents
	}
	made, err := seed.New(plan)
	if err != nil {
		s.t.Fatal(err)
	}
	result, err := seeding.Run(s.t.Context(), plan, made, mode)
	if err != nil {
		s.t.Fatal(err)
	}
	return result
}

// rows are how many there are by table.
func (s running) rows() map[string]int {
	s.t.Helper()
	rows := map[string]int{}
	for _, row := range s.seed(seeding.Count).Stores {
		rows[row.Collection] = row.Have
	}
	return rows
}

func (s running) ask(service, method, path string, body io.Reader) (int, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.URL(service)+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Error(err)
	}
	return response.StatusCode, strings.TrimSpace(string(answer))
}

func (s running) files() int {
	s.t.Helper()
	entries, err := os.ReadDir(s.data)
	if err != nil {
		s.t.Fatal(err)
	}
	return len(entries)
}

func (s running) balance(user int) int {
	s.t.Helper()
	status, answer := s.ask("user", "GET", fmt.Sprintf("/users/%d", user), nil)
	var found struct{ ID, Balance int }
	if err := json.Unmarshal([]byte(answer), &found); err != nil || status != 200 || found.ID != user {
		s.t.Fatal(status, answer, err)
	}
	return found.Balance
}

func TestAnOrderIsPaidAndStored(t *testing.T) {
	s := start(t, "", nil)
	status, answer := s.ask("order", "POST", "/orders/create/id/7", nil)
	var placed struct{ Order, User, Amount int }
	if err := json.Unmarshal([]byte(answer), &placed); err != nil || status != 200 || placed.Order != 1 || placed.User != 7 || placed.Amount < 1 || placed.Amount > 100 {
		t.Fatal(status, answer, err)
	}
	if got, want := s.rows(), (map[string]int{"orders": 1, "users": users, "accounts": users}); !maps.Equal(got, want) {
		t.Error(got)
	}
	if got := s.balance(7); got != 1000-placed.Amount {
		t.Error(got, placed)
	}
	if got := s.files(); got != 2 {
		t.Errorf("%d files", got)
	}
	if found := s.seed(seeding.Check); !found.OK || found.Rows[0].Want != 1 {
		t.Error(found)
	}
	if status, answer := s.ask("payment", "POST", "/payment/transfer/id/8/amount/30", nil); status != 200 || s.balance(8) != 970 {
		t.Error(status, answer)
	}
	if status, answer := s.ask("user", "PUT", "/put_users/9?amount=1000", nil); status != 200 || s.balance(9) != 0 {
		t.Error(status, answer)
	}
}

func TestOrdersOfManyAtATime(t *testing.T) {
	s := start(t, "", nil)
	var group sync.WaitGroup
	for client := range 6 {
		group.Go(func() {
			for n := range 10 {
				if status, answer := s.ask("order", "POST", fmt.Sprintf("/orders/create/id/%d", 1+(client+n)%5), nil); status != 200 {
					t.Error(status, answer)
				}
			}
		})
	}
	group.Wait()
	if got := s.rows()["orders"]; got != 60 || s.files() != 120 {
		t.Error(got, s.files())
	}
	if found := s.seed(seeding.Check); !found.OK || found.Rows[0].Have != 5 {
		t.Error(found)
	}
	if found := s.seed(seeding.Verify); found.OK {
		t.Error("what was written is the seed", found)
	}
	if found := s.seed(seeding.Reset); !found.OK || s.files() != 0 || s.rows()["orders"] != 0 || s.balance(3) != 1000 {
		t.Error(found, s.files(), s.rows())
	}
}

func TestWhatIsWrongChangesNothing(t *testing.T) {
	s := start(t, "", nil)
	large := strings.Repeat("x", 10<<20)
	for _, wrong := range []struct {
		service, method, path, body string
		status                      int
		says                        string
	}{
		{"order", "POST", "/orders/create/id/51", "", 404, "there is no user 51"},
		{"order", "POST", "/orders/create/id/0", "", 404, "there is no user 0"},
		{"order", "POST", "/orders/create/id/-1", "", 400, `id: "-1" is not a number`},
		{"order", "POST", "/orders/create/id/one", "", 400, `id: "one" is not a number`},
		{"order", "POST", "/orders/create/id/9223372036854775808", "", 400, "is not a number"},
		{"order", "POST", "/orders/create/id/1", large, 413, "more than 1048576 bytes"},
		{"order", "GET", "/orders/create/id/1", "", 405, ""},
		{"order", "POST", "/orders/create/id/", "", 404, ""},
		{"user", "GET", "/users/51", "", 404, "there is no user 51"},
		{"user", "GET", "/users/%31%20OR%201=1", "", 400, "is not a number"},
		{"user", "PUT", "/put_users/51?amount=1", "", 404, "there is no user 51"},
		{"user", "PUT", "/put_users/1", "", 400, "amount"},
		{"user", "PUT", "/put_users/1?amount=-1", "", 400, "amount"},
		{"user", "PUT", "/put_users/1?amount=1001", "", 409, "user 1 has less than 1001"},
		{"user", "PUT", "/put_users/1?amount=1", large, 413, "more than 1048576 bytes"},
		{"payment", "POST", "/payment/transfer/id/51/amount/1", "", 404, "there is no account 51"},
		{"payment", "POST", "/payment/transfer/id/1/amount/-5", "", 400, `amount: "-5" is not a number`},
		{"payment", "POST", "/payment/transfer/id/1/amount/1001", "", 409, "user 1 has less than 1001"},
	} {
		status, answer := s.ask(wrong.service, wrong.method, wrong.path, strings.NewReader(wrong.body))
		if status != wrong.status || !strings.Contains(answer, wrong.says) {
			t.Errorf("%s %s %s: %d %q, want %d %q", wrong.service, wrong.method, wrong.path, status, answer, wrong.status, wrong.says)
		}
	}
	if found := s.seed(seeding.Verify); !found.OK || s.files() != 0 {
		t.Error(found, s.files())
	}
}

// On a file system with room for one order's large file and no more.
func TestAFullDiskIsAnErrorOfItsOwn(t *testing.T) {
	data := t.TempDir()
	if err := unix.Mount("none", data, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("needs root to make a small file system: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(data, unix.MNT_DETACH) })
	s := start(t, "", map[string]string{"order.STONE_DATA": data, "order.STONE_TASK_LARGE_FILE": "150000"})
	if status, answer := s.ask("order", "POST", "/orders/create/id/1", nil); status != 200 {
		t.Fatal(status, answer)
	}
	left, balance := s.files(), s.balance(1)
	for range 3 {
		if status, answer := s.ask("order", "POST", "/orders/create/id/1", nil); status != 507 || !strings.HasPrefix(answer, "LargeFileTask.write: the disk is full") {
			t.Error(status, answer)
		}
	}
	if s.files() != left || s.rows()["orders"] != 1 || s.balance(1) != balance {
		t.Error(s.files(), s.rows(), s.balance(1))
	}
}

func TestFilesThatAreNotKept(t *testing.T) {
	s := start(t, "", map[string]string{"order.STONE_TASK_KEEP": "false"})
	if status, answer := s.ask("order", "POST", "/orders/create/id/1", nil); status != 200 || s.files() != 0 {
		t.Error(status, answer, s.files())
	}
}

// A service that another needs is gone: an error of the request, and no row.
func TestAServiceThatIsGone(t *testing.T) {
	s := start(t, "", nil)
	s.Replica("payment").Stop()
	if status, answer := s.ask("order", "POST", "/orders/create/id/1", nil); status != 502 || !strings.Contains(answer, "payment at ") {
		t.Error(status, answer)
	}
	if found := s.seed(seeding.Verify); !found.OK || s.files() != 0 {
		t.Error(found, s.files())
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

// The tree of one order. The Python tests lay published values beside the spans of this file.
func TestSpansOfAnOrder(t *testing.T) {
	collector := tracetest.New(t)
	s := start(t, collector.Address, nil)
	if status, answer := s.ask("order", "POST", "/orders/create/id/7", nil); status != 200 {
		t.Fatal(status, answer)
	}
	s.seed(seeding.Reset) // which is no request
	got := collector.Request(t, "POST /orders/create/id/{id}").String()
	if *update {
		if err := os.WriteFile("testdata/order.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile("testdata/order.txt"); err != nil || got != string(want) {
		t.Errorf("%v; run with -update and look at the difference; got\n%s", err, got)
	}
	var roots []string
	for _, span := range collector.Spans() {
		if span.Parent == "" {
			roots = append(roots, span.Name)
		}
	}
	if !slices.Equal(roots, []string{"POST /orders/create/id/{id}"}) {
		t.Error(roots)
	}
}

// Without payment's equations, as in the published small flow.
func TestNoEquationsAreNoSpan(t *testing.T) {
	collector := tracetest.New(t)
	s := start(t, collector.Address, map[string]string{"payment.STONE_TASK_LINPACK": "0", "payment.STONE_TASK_SLEEP": "50us"})
	if status, answer := s.ask("payment", "POST", "/payment/transfer/id/1/amount/1", nil); status != 200 {
		t.Fatal(status, answer)
	}
	tree := collector.Request(t, "POST /payment/transfer/id/{id}/amount/{amount}")
	text := tree.String()
	if strings.Contains(text, "Linpack") || !strings.Contains(text, "payment does SleepTask") {
		t.Error(text)
	}
	for _, one := range tree.Within {
		if one.Name == "SleepTask" && one.End-one.Start < 50_000 {
			t.Errorf("slept %d ns", one.End-one.Start)
		}
	}
}
