CREATE EXTENSION IF NOT EXISTS "uuid-ossp";
CREATE TYPE role AS ENUM ('reader', 'writer');
CREATE TABLE IF NOT EXISTS people (
    id uuid PRIMARY KEY DEFAULT uuid_generate_v4(),
    name text NOT NULL CHECK (name <> ''),
    role role NOT NULL DEFAULT 'reader',
    data jsonb NOT NULL DEFAULT '{}',
    tags text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX IF NOT EXISTS people_name ON people (lower(name));
