package shop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"

	"loadstone.dev/stone/platform/service"
	"loadstone.dev/stone/platform/tasks"
	"loadstone.dev/stone/platform/web"
)

const insertOrder = "INSERT INTO orders (user_id, amount) VALUES ($1, $2) RETURNING id"

// largestAmount of an order; all up to it are equally frequent.
const largestAmount = 100

type order struct {
	tables          *pgxpool.Pool
	folder          *tasks.Folder
	large           *tasks.LargeFile
	small           *tasks.SmallFile
	keep            bool
	users, payments *web.Backend
}

func startOrder(ctx context.Context, host *service.Host) error {
	given := host.Config.Tasks
	folder, err := tasks.OpenFolder(host.Config.Data)
	if err == nil {
		err = folder.Require(int64(given.LargeFile))
	}
	if err != nil {
		return fmt.Errorf("STONE_DATA: %w", err)
	}
	o := order{
		folder: folder, keep: given.Keep,
		large: tasks.NewLargeFile(folder, given.LargeFile, given.Sync),
		small: tasks.NewSmallFile(folder, given.SmallRounds, given.SmallFile),
	}
	if o.tables, err = host.OpenTables(ctx, "orders"); err != nil {
		return err
	}
	if o.users, err = host.DialHTTP("user"); err != nil {
		return err
	}
	if o.payments, err = host.DialHTTP("payment"); err != nil {
		return err
	}
	site := newSite(host.Log)
	host.HTTP = http.NewServeMux()
	host.HTTP.HandleFunc("POST "+createRoute, serve(site, o.create))
	host.HTTP.HandleFunc("DELETE "+filesRoute, serve(site, o.clear))
	return nil
}

// create is the whole flow, in the published order. A request that fails leaves no file and no row.
func (o order) create(r *http.Request) (any, error) {
	id, err := number(r, "id")
	if err != nil {
		return nil, err
	}
	files, err := o.files(r.Context())
	if err != nil {
		return nil, errors.Join(err, remove(files))
	}
	placed, err := o.place(r.Context(), id)
	if err != nil {
		return nil, errors.Join(err, remove(files))
	}
	return placed, nil
}

// files does the tasks with files, and returns the files that stay: none where they are not kept.
func (o order) files(ctx context.Context) (staying []string, err error) {
	large, err := o.large.Write(ctx)
	if err != nil {
		return nil, err
	}
	if staying, err = o.checked(large, o.large.Read(ctx, large)); err != nil {
		return nil, err
	}
	small, err := o.small.Run(ctx)
	more, err := o.checked(small, err)
	return append(staying, more...), err
}

// checked removes a file that is wrong or not kept.
func (o order) checked(file string, err error) (staying []string, _ error) {
	if err != nil || !o.keep {
		return nil, errors.Join(err, tasks.Remove(file))
	}
	return []string{file}, nil
}

// place has the user looked up and pay, then stores the order.
func (o order) place(ctx context.Context, id int64) (any, error) {
	amount := 1 + rand.Int64N(largestAmount)
	if err := call(ctx, o.users, http.MethodGet, userRoute, "", id); err != nil {
		return nil, err
	}
	if err := call(ctx, o.payments, http.MethodPost, transferRoute, "", id, amount); err != nil {
		return nil, err
	}
	var placed int64
	err := o.tables.QueryRow(ctx, insertOrder, id, amount).Scan(&placed)
	return map[string]int64{"order": placed, "user": id, "amount": amount}, err
}

func remove(files []string) (err error) {
	for _, file := range files {
		err = errors.Join(err, tasks.Remove(file))
	}
	return err
}

// clear removes all files of this replica; called between runs.
func (o order) clear(*http.Request) (any, error) {
	removed, err := o.folder.Clear()
	if err != nil {
		return nil, err
	}
	free, err := o.folder.Free()
	return map[string]int64{"removed": int64(removed), "free": free}, err
}
