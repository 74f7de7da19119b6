-- A mistake: people are contacts. Companies are contacts too, so they become people, who own what belongs to their members.

CREATE TABLE auth_user (
  id SERIAL PRIMARY KEY,
  username VARCHAR(150) NOT NULL UNIQUE,
  email VARCHAR(254)
);

CREATE DATA_SUBJECT TABLE shuup_contact (
  id SERIAL PRIMARY KEY,
  name VARCHAR(256),
  email VARCHAR(254),
  phone VARCHAR(64)
);

CREATE TABLE shuup_personcontact (
  pid SERIAL PRIMARY KEY,
  contact_ptr_id INT NOT NULL UNIQUE OWNED_BY shuup_contact(id),
  user_id INT UNIQUE OWNS auth_user(id),
  birth_date DATE
);

CREATE TABLE shuup_companycontact (
  contact_ptr_id INT PRIMARY KEY OWNED_BY shuup_contact(id),
  tax_number VARCHAR(64)
);

CREATE TABLE shuup_companycontact_members (
  id SERIAL PRIMARY KEY,
  companycontact_id INT NOT NULL OWNED_BY shuup_companycontact(contact_ptr_id),
  contact_id INT NOT NULL OWNED_BY shuup_personcontact(pid)
);
