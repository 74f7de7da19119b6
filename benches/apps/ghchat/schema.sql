-- ghChat, chat for people on GitHub: 6 tables. A group is its creator's; members may access it and what is said in it.

CREATE DATA_SUBJECT TABLE user_info (
  id SERIAL PRIMARY KEY,
  github_id INT UNIQUE,
  name VARCHAR(50),
  password VARCHAR(40),
  avatar VARCHAR(250),
  location VARCHAR(50),
  website VARCHAR(50),
  github VARCHAR(100),
  intro VARCHAR(200),
  company VARCHAR(50),
  status SMALLINT NOT NULL DEFAULT 0,
  socketid TEXT
);

CREATE TABLE group_info (
  id SERIAL PRIMARY KEY,
  to_group_id VARCHAR(50) NOT NULL UNIQUE,
  name VARCHAR(50),
  group_notice VARCHAR(500),
  creator_id INT NOT NULL OWNED_BY user_info(id),
  create_time BIGINT
);

CREATE TABLE group_user_relation (
  id SERIAL PRIMARY KEY,
  to_group_id VARCHAR(50) ACCESSES group_info(to_group_id),
  user_id INT NOT NULL OWNED_BY user_info(id)
);

CREATE TABLE group_msg (
  id SERIAL PRIMARY KEY,
  from_user INT NOT NULL OWNED_BY user_info(id),
  to_group_id VARCHAR(50) ACCESSED_BY group_info(to_group_id),
  message TEXT,
  attachments VARCHAR(250) NOT NULL DEFAULT '[]',
  time BIGINT
);
CREATE INDEX group_msg_group ON group_msg(to_group_id, time);

CREATE TABLE private_msg (
  id SERIAL PRIMARY KEY,
  from_user INT NOT NULL OWNED_BY user_info(id),
  to_user INT NOT NULL OWNED_BY user_info(id),
  message TEXT,
  attachments VARCHAR(250) NOT NULL DEFAULT '[]',
  time BIGINT,
  ON DEL from_user ANON (from_user),
  ON DEL to_user ANON (to_user)
);
CREATE INDEX private_msg_from ON private_msg(from_user);
CREATE INDEX private_msg_to ON private_msg(to_user);

CREATE TABLE user_user_relation (
  id SERIAL PRIMARY KEY,
  user_id INT NOT NULL OWNED_BY user_info(id),
  from_user INT NOT NULL OWNED_BY user_info(id),
  remark VARCHAR(10),
  shield SMALLINT NOT NULL DEFAULT 0,
  time BIGINT,
  ON DEL user_id ANON (user_id),
  ON DEL from_user ANON (from_user)
);
