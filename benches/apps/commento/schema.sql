-- Commento, comments for other sites: 12 tables, three of them people (site owners, moderators, commenters).
-- A comment is its writer's; the site's owner and whoever it answers may access it, without learning who wrote it.

CREATE TABLE config (
  version VARCHAR(64) PRIMARY KEY
);

CREATE DATA_SUBJECT TABLE owners (
  ownerHex VARCHAR(64) PRIMARY KEY,
  email VARCHAR(255) NOT NULL UNIQUE,
  name VARCHAR(255) NOT NULL,
  passwordHash VARCHAR(255) NOT NULL DEFAULT '',
  confirmedEmail BOOLEAN NOT NULL DEFAULT false,
  joinDate TIMESTAMP
);

CREATE TABLE ownerSessions (
  ownerToken VARCHAR(64) PRIMARY KEY,
  ownerHex VARCHAR(64) NOT NULL OWNED_BY owners(ownerHex),
  loginDate TIMESTAMP
);

CREATE TABLE ownerConfirmHexes (
  confirmHex VARCHAR(64) PRIMARY KEY,
  ownerHex VARCHAR(64) NOT NULL OWNED_BY owners(ownerHex),
  sendDate TIMESTAMP
);

CREATE TABLE ownerResetHexes (
  resetHex VARCHAR(64) PRIMARY KEY,
  ownerHex VARCHAR(64) NOT NULL OWNED_BY owners(ownerHex),
  sendDate TIMESTAMP
);

CREATE TABLE domains (
  domain VARCHAR(255) PRIMARY KEY,
  ownerHex VARCHAR(64) NOT NULL OWNED_BY owners(ownerHex),
  name VARCHAR(255),
  state VARCHAR(16) NOT NULL DEFAULT 'unfrozen',
  importedComments VARCHAR(16) NOT NULL DEFAULT 'false',
  autoSpamFilter BOOLEAN NOT NULL DEFAULT true,
  requireModeration BOOLEAN NOT NULL DEFAULT false,
  requireIdentification BOOLEAN NOT NULL DEFAULT true,
  viewsThisMonth INT NOT NULL DEFAULT 0,
  creationDate TIMESTAMP
);

-- The application identifies a moderator by domain and email; a person must not go with a domain, so there is a key of its own.
CREATE DATA_SUBJECT TABLE moderators (
  moderatorHex VARCHAR(64) PRIMARY KEY,
  domain VARCHAR(255) REFERENCES ONLY domains(domain) ON DELETE SET NULL,
  email VARCHAR(255) NOT NULL,
  addDate TIMESTAMP,
  UNIQUE (domain, email)
);

CREATE DATA_SUBJECT TABLE commenters (
  commenterHex VARCHAR(64) PRIMARY KEY,
  email VARCHAR(255),
  name VARCHAR(255) NOT NULL,
  link VARCHAR(255),
  photo VARCHAR(255),
  provider VARCHAR(16),
  joinDate TIMESTAMP,
  state VARCHAR(16) NOT NULL DEFAULT 'ok'
);

CREATE TABLE commenterSessions (
  commenterToken VARCHAR(64) PRIMARY KEY,
  commenterHex VARCHAR(64) NOT NULL OWNED_BY commenters(commenterHex),
  creationDate TIMESTAMP
);

-- Whoever is forgotten takes the whole tree of answers below their comments with them.
CREATE TABLE comments (
  commentHex VARCHAR(64) PRIMARY KEY,
  domain VARCHAR(255) ACCESSED_BY domains(domain),
  path VARCHAR(512) NOT NULL,
  commenterHex VARCHAR(64) NOT NULL OWNED_BY commenters(commenterHex),
  markdown TEXT NOT NULL,
  html TEXT,
  parentHex VARCHAR(64) ACCESSED_BY comments(commentHex),
  score INT NOT NULL DEFAULT 0,
  state VARCHAR(16) NOT NULL DEFAULT 'approved',
  creationDate TIMESTAMP,
  ON GET domain ANON (commenterHex, score, state),
  ON GET parentHex ANON (commenterHex, score, state),
  ON DEL parentHex DELETE_ROW
);
CREATE INDEX comments_domain_path ON comments(domain, path);
CREATE INDEX comments_parent ON comments(parentHex);

CREATE TABLE votes (
  voteId SERIAL PRIMARY KEY,
  commentHex VARCHAR(64) NOT NULL REFERENCES ONLY comments(commentHex) ON DELETE CASCADE,
  commenterHex VARCHAR(64) NOT NULL OWNED_BY commenters(commenterHex),
  direction INT NOT NULL DEFAULT 0,
  voteDate TIMESTAMP,
  UNIQUE (commentHex, commenterHex)
);

CREATE TABLE views (
  viewId SERIAL PRIMARY KEY,
  domain VARCHAR(255) NOT NULL REFERENCES ONLY domains(domain) ON DELETE CASCADE,
  commenterHex VARCHAR(64) NOT NULL OWNED_BY commenters(commenterHex),
  viewDate TIMESTAMP
);
CREATE INDEX views_domain ON views(domain);
