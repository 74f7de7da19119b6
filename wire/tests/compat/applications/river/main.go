// River: rivermigrate up, down, up again; then jobs are inserted, worked, retried, kept unique, paused and cancelled.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
)

// Sort is a job: it sorts words, and fails as often as it is told to.
type Sort struct {
	Words []string `json:"words" river:"unique"`
	Fails int      `json:"fails"`
}

func (Sort) Kind() string { return "sort" }

type sorter struct {
	river.WorkerDefaults[Sort]
}

func (sorter) NextRetry(*river.Job[Sort]) time.Time { return time.Now() }

func (sorter) Work(ctx context.Context, job *river.Job[Sort]) error {
	if job.Attempt <= job.Args.Fails {
		return fmt.Errorf("attempt %d", job.Attempt)
	}
	sort.Strings(job.Args.Words)
	return river.RecordOutput(ctx, job.Args.Words)
}

type queue struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
	done   <-chan *river.Event
}

func migrate(ctx context.Context, pool *pgxpool.Pool) {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		panic(err)
	}
	run := func(direction rivermigrate.Direction, options *rivermigrate.MigrateOpts) func() (any, error) {
		return func() (any, error) {
			result, err := migrator.Migrate(ctx, direction, options)
			if err != nil {
				return nil, err
			}
			versions := []int{}
			for _, one := range result.Versions {
				versions = append(versions, one.Version)
			}
			return versions, nil
		}
	}
	for version := 1; version <= len(migrator.AllVersions()); version++ {
		step(fmt.Sprintf("migrate up to %d", version), run(rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: version}))
	}
	step("migrate again", run(rivermigrate.DirectionUp, nil))
	step("validate", func() (any, error) {
		result, err := migrator.Validate(ctx, nil)
		if err == nil && !result.OK {
			err = fmt.Errorf("not so: %v", result.Messages)
		}
		return nil, err
	})
	step("migrate down", run(rivermigrate.DirectionDown, &rivermigrate.MigrateOpts{TargetVersion: -1}))
	step("migrate up after that", run(rivermigrate.DirectionUp, nil))
}

// after gives the state of each job that is done after `insert`, which inserts so many.
func (q *queue) after(many int, insert func() error) (any, error) {
	if err := insert(); err != nil {
		return nil, err
	}
	seen := []string{}
	for len(seen) < many {
		select {
		case event := <-q.done:
			seen = append(seen, fmt.Sprintf("%s after %d: %s", event.Job.State, event.Job.Attempt, event.Job.Output()))
		case <-time.After(15 * time.Second):
			return nil, errors.New("not so: worked within 15 s")
		}
	}
	sort.Strings(seen)
	return seen, nil
}

func (q *queue) insert(ctx context.Context) {
	step("a job", func() (any, error) {
		return q.after(1, func() error { _, err := q.client.Insert(ctx, Sort{Words: []string{"b", "a"}}, nil); return err })
	})
	step("a job that fails twice", func() (any, error) {
		return q.after(1, func() error { _, err := q.client.Insert(ctx, Sort{Words: []string{"c"}, Fails: 2}, nil); return err })
	})
	step("a job of a transaction", func() (any, error) {
		return q.after(1, func() error {
			return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
				_, err := q.client.InsertTx(ctx, tx, Sort{Words: []string{"z", "y"}}, &river.InsertOpts{Tags: []string{"of-a-transaction"}, Priority: 2})
				return err
			})
		})
	})
	step("many jobs", func() (any, error) {
		jobs := make([]river.InsertManyParams, 200)
		for i := range jobs {
			jobs[i] = river.InsertManyParams{Args: Sort{Words: []string{"n"}}}
		}
		return q.after(len(jobs), func() error { _, err := q.client.InsertMany(ctx, jobs); return err })
	})
	step("many jobs by COPY", func() (any, error) {
		jobs := []river.InsertManyParams{{Args: Sort{Words: []string{"f"}}}, {Args: Sort{Words: []string{"g"}}}}
		return q.after(2, func() error { _, err := q.client.InsertManyFast(ctx, jobs); return err })
	})
	step("a unique job", func() (any, error) {
		options := &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}, ScheduledAt: time.Now().Add(time.Hour)}
		skipped := []bool{}
		for range 2 {
			result, err := q.client.Insert(ctx, Sort{Words: []string{"one"}}, options)
			if err != nil {
				return nil, err
			}
			skipped = append(skipped, result.UniqueSkippedAsDuplicate)
		}
		return skipped, nil
	})
}

func (q *queue) steer(ctx context.Context) {
	states := func(params *river.JobListParams) (any, error) {
		result, err := q.client.JobList(ctx, params)
		if err != nil {
			return nil, err
		}
		found := []string{}
		for _, job := range result.Jobs {
			found = append(found, fmt.Sprint(job.ID, job.State, job.Attempt, len(job.Errors), job.Tags))
		}
		return found, nil
	}
	step("list", func() (any, error) { return states(river.NewJobListParams().OrderBy(river.JobListOrderByID, river.SortOrderAsc).First(5)) })
	step("cancel", func() (any, error) {
		result, err := q.client.JobList(ctx, river.NewJobListParams().States(rivertype.JobStateScheduled))
		if err != nil {
			return nil, err
		}
		for _, job := range result.Jobs {
			if _, err := q.client.JobCancel(ctx, job.ID); err != nil {
				return nil, err
			}
		}
		return states(river.NewJobListParams().States(rivertype.JobStateCancelled))
	})
	step("retry", func() (any, error) {
		return q.after(1, func() error { _, err := q.client.JobRetry(ctx, 1); return err })
	})
	step("pause and resume", func() (any, error) {
		if err := q.client.QueuePause(ctx, river.QueueDefault, nil); err != nil {
			return nil, err
		}
		paused, err := q.client.QueueGet(ctx, river.QueueDefault)
		if err != nil {
			return nil, err
		}
		return paused.PausedAt != nil, q.client.QueueResume(ctx, river.QueueDefault, nil)
	})
	step("delete", func() (any, error) { _, err := q.client.JobDelete(ctx, 1); return nil, err })
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	migrate(ctx, pool)
	workers := river.NewWorkers()
	river.AddWorker(workers, &sorter{})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 10}}, Workers: workers})
	if err != nil {
		panic(err)
	}
	done, cancel := client.Subscribe(river.EventKindJobCompleted)
	defer cancel()
	if !step("start", func() (any, error) { return nil, client.Start(ctx) }) {
		return
	}
	q := &queue{pool, client, done}
	q.insert(ctx)
	q.steer(ctx)
	step("stop", func() (any, error) { return nil, client.Stop(ctx) })
}
