// golang-migrate as a library over its three drivers, then the tables by pgx and by database/sql.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/golang-migrate/migrate/v4"
	_ "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	_ "github.com/golang-migrate/migrate/v4/database/postgres"
	_ "github.com/golang-migrate/migrate/v4/source/file"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
)

var address = os.Getenv("DATABASE_URL")

func migrator(driver string) (*migrate.Migrate, error) {
	return migrate.New("file://migrations", driver+"://"+strings.SplitN(address, "://", 2)[1]+"&x-migrations-table=migrations")
}

// upAndDown is what a program does when it starts, with one of the drivers.
func upAndDown(driver string) (any, error) {
	m, err := migrator(driver)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	for _, run := range []func() error{m.Down, m.Up, func() error { return m.Steps(-2) }, func() error { return m.Migrate(3) }, m.Up} {
		if err := run(); err != nil {
			return nil, err
		}
	}
	if err := m.Up(); !errors.Is(err, migrate.ErrNoChange) {
		return nil, fmt.Errorf("not so: nothing to do: %w", err)
	}
	version, dirty, err := m.Version()
	return []any{version, dirty}, err
}

// atOnce starts several migrators, of which one finds work.
func atOnce() (any, error) {
	var group sync.WaitGroup
	failed := make([]error, 4)
	for i := range failed {
		m, err := migrator("pgx5")
		if err != nil {
			return nil, err
		}
		defer m.Close()
		group.Go(func() { failed[i] = m.Migrate(4) })
	}
	group.Wait()
	for _, err := range failed {
		if err != nil && !errors.Is(err, migrate.ErrNoChange) {
			return nil, err
		}
	}
	return len(failed), nil
}

func one[T any](ctx context.Context, pool *pgxpool.Pool, query string, values ...any) (any, error) {
	rows, err := pool.Query(ctx, query, values...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

func use(ctx context.Context, pool *pgxpool.Pool) {
	step("a batch", func() (any, error) {
		batch := &pgx.Batch{}
		for i, name := range []string{"Ann", "Ben"} {
			batch.Queue("INSERT INTO people (id, name, role, tags, data) VALUES ($1, $2, 'writer', $3, $4)",
				fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", i+1), name, []string{"a", name}, map[string]any{"n": i})
			batch.Queue("INSERT INTO accounts (owner, cents) SELECT id, 100 FROM people WHERE name = $1 RETURNING id", name)
		}
		return nil, pool.SendBatch(ctx, batch).Close()
	})
	step("CopyFrom", func() (any, error) {
		return pool.CopyFrom(ctx, pgx.Identifier{"transfers"}, []string{"source", "target", "cents"}, pgx.CopyFromRows([][]any{{int64(1), int64(2), int64(5)}, {int64(2), int64(1), int64(7)}}))
	})
	step("a transfer", func() (any, error) {
		err := pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE accounts SET cents = cents + CASE id WHEN 1 THEN -30 ELSE 30 END WHERE id = ANY($1)", []int64{1, 2})
			return err
		})
		if err != nil {
			return nil, err
		}
		return one[int64](ctx, pool, "SELECT cents FROM accounts ORDER BY id")
	})
	step("a check refuses, a savepoint saves", func() (any, error) {
		var answer any
		return answer, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
			answer, err = state(pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error {
				_, err := inner.Exec(ctx, "UPDATE accounts SET cents = -1")
				return err
			}))
			if err == nil {
				_, err = tx.Exec(ctx, "UPDATE accounts SET currency = 'SEK' WHERE id = 2")
			}
			return err
		})
	})
	step("a view", func() (any, error) { return one[string](ctx, pool, "SELECT name || ' ' || cents FROM balances JOIN people ON id = owner ORDER BY 1") })
	step("documents and arrays", func() (any, error) {
		return one[string](ctx, pool, "SELECT name FROM people WHERE data @> $1 AND $2 = ANY(tags)", map[string]any{"n": 1}, "a")
	})
}

func standard() {
	step("database/sql", func() (any, error) {
		db, err := sql.Open("pgx", address)
		if err != nil {
			return nil, err
		}
		defer db.Close()
		tx, err := db.Begin()
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec("DELETE FROM transfers WHERE cents > $1", 5); err != nil {
			return nil, err
		}
		var many int
		if err := tx.QueryRow("SELECT count(*) FROM transfers").Scan(&many); err != nil {
			return nil, err
		}
		return many, tx.Rollback()
	})
}

func main() {
	ctx := context.Background()
	step("up and down by pgx", func() (any, error) { return upAndDown("pgx5") })
	step("up and down by pq", func() (any, error) { return upAndDown("postgres") })
	step("four at once", atOnce)
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	use(ctx, pool)
	standard()
}
