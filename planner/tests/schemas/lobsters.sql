-- Lobsters: stories, comments and votes of a link-sharing site. Nineteen tables, three of people.
CREATE DATA_SUBJECT TABLE users (
  id bigserial PRIMARY KEY, username varchar(50) UNIQUE, email varchar(100), password_digest varchar(75),
  created_at timestamp, is_admin boolean DEFAULT false, session_token varchar(75) DEFAULT '' NOT NULL, about text,
  invited_by_user_id bigint REFERENCES users(id), banned_by_user_id bigint REFERENCES users(id), karma int DEFAULT 0 NOT NULL);
CREATE INDEX users_session_token ON users (session_token);
CREATE DATA_SUBJECT TABLE invitation_requests (id bigserial PRIMARY KEY, code varchar(255), is_verified boolean DEFAULT false, email varchar(255), name varchar(255), ip_address varchar(255));
CREATE DATA_SUBJECT TABLE invitations (id bigserial PRIMARY KEY, user_id bigint OWNED_BY users(id), email varchar(255), code varchar(255), memo text);
CREATE TABLE tags (id bigserial PRIMARY KEY, tag varchar(25) NOT NULL UNIQUE, description varchar(100));
CREATE TABLE keystores (key varchar(50) PRIMARY KEY, value bigint);
CREATE TABLE stories (
  id bigserial PRIMARY KEY, created_at timestamp, user_id bigint NOT NULL OWNED_BY users(id), url varchar(250), title varchar(150) NOT NULL,
  description text, short_id varchar(6) NOT NULL UNIQUE, is_expired boolean NOT NULL DEFAULT false, merged_story_id bigint);
CREATE TABLE comments (
  id bigserial PRIMARY KEY, created_at timestamp NOT NULL, short_id varchar(10) NOT NULL UNIQUE,
  story_id bigint NOT NULL REFERENCES stories(id), user_id bigint NOT NULL OWNED_BY users(id),
  parent_comment_id bigint, thread_id bigint, comment text NOT NULL);
CREATE INDEX ON comments (thread_id);
CREATE INDEX ON comments (story_id);
CREATE TABLE hat_requests (id bigserial PRIMARY KEY, user_id bigint OWNED_BY users(id), hat varchar(255), link varchar(255), comment text);
CREATE TABLE hats (id bigserial PRIMARY KEY, user_id bigint OWNED_BY users(id), granted_by_user_id bigint NOT NULL OWNED_BY users(id), hat varchar(255) NOT NULL);
CREATE TABLE hidden_stories (id bigserial PRIMARY KEY, user_id bigint OWNED_BY users(id), story_id bigint REFERENCES stories(id), UNIQUE (user_id, story_id));
CREATE TABLE read_ribbons (id bigserial PRIMARY KEY, is_following boolean DEFAULT true, user_id bigint OWNED_BY users(id), story_id bigint REFERENCES stories(id));
CREATE TABLE saved_stories (id bigserial PRIMARY KEY, user_id bigint OWNED_BY users(id), story_id bigint REFERENCES stories(id), UNIQUE (user_id, story_id));
CREATE TABLE suggested_titles (id bigserial PRIMARY KEY, story_id bigint REFERENCES stories(id), user_id bigint OWNED_BY users(id), title varchar(150) DEFAULT '' NOT NULL);
CREATE TABLE suggested_taggings (id bigserial PRIMARY KEY, story_id bigint REFERENCES stories(id), tag_id bigint ACCESSES tags(id), user_id bigint OWNED_BY users(id));
CREATE TABLE messages (
  id bigserial PRIMARY KEY, created_at timestamp, author_user_id bigint OWNED_BY users(id), recipient_user_id bigint OWNED_BY users(id), subject varchar(100), body text,
  ON DEL author_user_id ANON (author_user_id), ON DEL recipient_user_id ANON (recipient_user_id));
CREATE TABLE moderations (id bigserial PRIMARY KEY, moderator_user_id bigint OWNED_BY users(id), story_id bigint, comment_id bigint, user_id bigint OWNED_BY users(id), action text);
CREATE TABLE tag_filters (id bigserial PRIMARY KEY, user_id bigint OWNED_BY users(id), tag_id bigint REFERENCES tags(id));
CREATE TABLE taggings (id bigserial PRIMARY KEY, story_id bigint NOT NULL, tag_id bigint NOT NULL ACCESSES tags(id), FOREIGN KEY (story_id) OWNED_BY stories(id), UNIQUE (story_id, tag_id));
CREATE TABLE votes (
  id bigserial PRIMARY KEY, user_id bigint NOT NULL OWNED_BY users(id), story_id bigint REFERENCES stories(id) ON DELETE CASCADE,
  comment_id bigint REFERENCES comments(id) ON DELETE CASCADE, vote smallint NOT NULL, reason varchar(1));
CREATE INDEX ON votes (user_id, comment_id, story_id);
