CREATE INDEX CONCURRENTLY people_city ON people (city) WHERE city IS NOT NULL;
