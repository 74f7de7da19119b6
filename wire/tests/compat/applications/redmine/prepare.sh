# What the package's own installation does, without its questions: the database is named by DATABASE_URL.
set -e
rm -rf Gemfile.lock config/database.yml instances
printf 'production:\n  adapter: postgresql\n  url: <%%= ENV["DATABASE_URL"] %%>\n' > config/database.yml
mkdir -p tmp log files plugins instances public/plugin_assets
bundle install --local --quiet
