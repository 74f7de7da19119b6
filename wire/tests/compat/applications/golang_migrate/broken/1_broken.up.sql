CREATE TABLE whole (id int); SELECT nothing;
