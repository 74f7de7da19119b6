module applications/golang_migrate

go 1.25

require (
	github.com/golang-migrate/migrate/v4 v4.20.1
	github.com/jackc/pgx/v5 v5.13.0
)

tool github.com/golang-migrate/migrate/v4/cmd/migrate
