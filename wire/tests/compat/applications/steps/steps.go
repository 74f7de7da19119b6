package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

type told struct {
	Step    string `json:"step"`
	Outcome string `json:"outcome"`
	Message string `json:"message"`
}

func tell(step, outcome, message string) {
	line, _ := json.Marshal(told{step, outcome, message})
	fmt.Fprintf(os.Stdout, "%s\n", line)
}

// said is an error as tools.py reads it, with its SQLSTATE.
func said(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return strings.TrimRight(strings.Join([]string{refused.Code, err.Error(), refused.Detail, refused.Hint}, " | "), " |")
	}
	return err.Error()
}

// step runs a step and tells what it came to; what it returns is its answer.
func step(name string, body func() (any, error)) bool {
	answer, err := body()
	if err != nil {
		tell(name, "failed", said(err))
		return false
	}
	text, _ := json.Marshal(answer)
	tell(name, "passed", string(text))
	return true
}

// state is the SQLSTATE that an operation must fail with.
func state(err error) (any, error) {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return []string{refused.Code, refused.ConstraintName}, nil
	}
	return nil, fmt.Errorf("not so: it was not refused: %w", err)
}
