# What the package's own installation does, without its questions: the database is named by DATABASE_URL.
set -e
rm -f Gemfile.lock config/database.yml
printf 'production:\n  adapter: postgresql\n  url: <%%= ENV["DATABASE_URL"] %%>\n' > config/database.yml
mkdir -p tmp log files plugins public/plugin_assets
bundle install --local --quiet
