-- Schnack, comments for static sites: 5 tables. Only users and their comments are personal.

CREATE DATA_SUBJECT TABLE "user" (
  id SERIAL PRIMARY KEY,
  name VARCHAR(128),
  display_name VARCHAR(128),
  provider VARCHAR(32),
  provider_id VARCHAR(128),
  url VARCHAR(255),
  blocked BOOLEAN NOT NULL DEFAULT false,
  trusted BOOLEAN NOT NULL DEFAULT false,
  created_at TIMESTAMP NOT NULL DEFAULT now()
);

CREATE TABLE comment (
  id SERIAL PRIMARY KEY,
  user_id INT NOT NULL OWNED_BY "user"(id),
  slug VARCHAR(128) NOT NULL,
  reply_to INT REFERENCES ONLY comment(id) ON DELETE SET NULL,
  comment TEXT NOT NULL,
  approved BOOLEAN NOT NULL DEFAULT false,
  rejected BOOLEAN NOT NULL DEFAULT false,
  created_at TIMESTAMP NOT NULL DEFAULT now()
);
CREATE INDEX comment_slug ON comment(slug);

CREATE TABLE setting (
  name VARCHAR(128) PRIMARY KEY,
  active BOOLEAN NOT NULL DEFAULT false
);

CREATE TABLE subscription (
  endpoint VARCHAR(600) PRIMARY KEY,
  publickey VARCHAR(4096) NOT NULL,
  auth VARCHAR(600) NOT NULL
);

CREATE TABLE oauth_provider (
  id SERIAL PRIMARY KEY,
  provider VARCHAR(32) NOT NULL,
  provider_app_id VARCHAR(255),
  provider_domain VARCHAR(255),
  created_at TIMESTAMP NOT NULL DEFAULT now()
);
