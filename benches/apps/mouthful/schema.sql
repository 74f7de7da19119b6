-- Mouthful, comments embedded in other sites: its two tables, and a third that was added so that authors are people and not mere strings.

CREATE DATA_SUBJECT TABLE Author (
  Id VARCHAR(64) PRIMARY KEY,
  Name VARCHAR(255),
  CreatedAt TIMESTAMP NOT NULL DEFAULT now()
);

CREATE TABLE Thread (
  Id VARCHAR(36) PRIMARY KEY,
  Path VARCHAR(1024) NOT NULL UNIQUE,
  CreatedAt TIMESTAMP NOT NULL DEFAULT now()
);

CREATE TABLE Comment (
  Id VARCHAR(36) PRIMARY KEY,
  ThreadId VARCHAR(36) NOT NULL REFERENCES Thread(Id),
  Body TEXT NOT NULL,
  Author VARCHAR(64) NOT NULL OWNED_BY Author(Id),
  Confirmed BOOLEAN NOT NULL DEFAULT false,
  ReplyTo VARCHAR(36) REFERENCES ONLY Comment(Id) ON DELETE SET NULL,
  CreatedAt TIMESTAMP NOT NULL DEFAULT now(),
  DeletedAt TIMESTAMP
);
CREATE INDEX Comment_ThreadId ON Comment(ThreadId);
