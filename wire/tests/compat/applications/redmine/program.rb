# Redmine by its own pages and its REST interface, through Rack: projects, issues, wiki, time, searches, exports, removal.
require_relative "steps"

User.find_by(login: "admin").update!(must_change_passwd: false, password: "administrator", password_confirmation: "administrator")
Setting.rest_api_enabled = "1"
Setting.default_language = "en"
$key = User.find_by(login: "admin").api_key
# What fails in a page is the step's error, not a page of its own.
Rails.application.env_config["action_dispatch.show_exceptions"] = false
$pages = ActionDispatch::Integration::Session.new(Rails.application)
$pages.host! "localhost"

# A call of the REST interface: what it answers, without times.
def rest(method, path, body = nil)
  $pages.process(method, path, params: body&.to_json, headers: { "X-Redmine-API-Key" => $key, "Content-Type" => "application/json" }, as: nil)
  must($pages.response.successful?, "#{method} #{path}: #{$pages.response.status} #{$pages.response.body[0, 300]}")
  return if $pages.response.body.blank?
  without_times(JSON.parse($pages.response.body))
end

def without_times(value)
  case value
  when Hash then value.reject { |name, _| name =~ /_on$|api_key|salt|token|start_date/ }.transform_values { |inner| without_times(inner) }
  when Array then value.map { |inner| without_times(inner) }
  else value
  end
end

# A page of HTML, seen by who is logged in: it is there, and says these words.
def page(path, *words)
  $pages.get path
  must($pages.response.successful?, "GET #{path}: #{$pages.response.status} #{$pages.response.body[/<pre>.*?<\/pre>/m]}")
  words.each { |word| must($pages.response.body.include?(word), "#{path} says #{word}") }
  path
end

step("log in") do
  $pages.get "/login"
  token = $pages.response.body[/name="authenticity_token" value="([^"]+)"/, 1]
  $pages.post "/login", params: { username: "admin", password: "administrator", authenticity_token: token }
  $pages.follow_redirect!
  must($pages.response.body.include?("My page"), "logged in")
end
step("projects") do
  rest(:post, "/projects.json", project: { name: "Garden", identifier: "garden", enabled_module_names: %w[issue_tracking time_tracking wiki calendar gantt news documents files boards], is_public: false })
  rest(:post, "/projects.json", project: { name: "Trees", identifier: "trees", parent_id: 1, inherit_members: true })
  rest(:get, "/projects.json")
end
step("users and members") do
  rest(:post, "/users.json", user: { login: "ann", firstname: "Ann", lastname: "Ångström", mail: "ann@example.com", password: "longenough" })
  rest(:post, "/groups.json", group: { name: "Gardeners", user_ids: [User.find_by(login: "ann").id] })
  rest(:post, "/projects/garden/memberships.json", membership: { user_id: Group.find_by(lastname: "Gardeners").id, role_ids: [Role.givable.first.id] })
  rest(:get, "/projects/garden/memberships.json")
end
step("a custom field") do
  IssueCustomField.create!(name: "Height", field_format: "float", is_for_all: true, is_filter: true, searchable: false, trackers: Tracker.all).id
end
step("issues") do
  rest(:post, "/projects/garden/versions.json", version: { name: "Spring" })
  20.times do |n|
    rest(:post, "/issues.json", issue: { project_id: 1, subject: "Plant #{n}", description: "in row #{n % 3}", priority_id: IssuePriority.first.id, parent_issue_id: (1 if n.between?(3, 6)),
                                         assigned_to_id: (User.find_by(login: "ann").id if n.odd?), fixed_version_id: 1, estimated_hours: n, custom_field_values: { IssueCustomField.first.id => n * 1.5 } })
  end
  rest(:get, "/issues.json?sort=subject:desc&limit=5&offset=2")
end
step("an issue is changed") do
  rest(:put, "/issues/2.json", issue: { status_id: IssueStatus.last.id, notes: "done, *really*", done_ratio: 100 })
  rest(:get, "/issues/2.json?include=journals,relations,children,watchers,allowed_statuses")
end
step("relations, watchers") do
  rest(:post, "/issues/1/relations.json", relation: { issue_to_id: 10, relation_type: "blocks" })
  rest(:post, "/issues/1/watchers.json", user_id: User.find_by(login: "ann").id)
  rest(:get, "/issues/1.json?include=relations,children,watchers")
end
step("a stale change is refused") do
  stale, fresh = Issue.find(3), Issue.find(3)
  fresh.update!(subject: "Plant three")
  begin
    stale.update!(subject: "Plant drei")
  rescue ActiveRecord::StaleObjectError
    "refused"
  end
end
step("filters") do
  ["assigned_to_id=me", "status_id=*&cf_1=%3E%3D10", "subject=~Plant%201", "f[]=estimated_hours&op[estimated_hours]=%3E%3C&v[estimated_hours][]=2&v[estimated_hours][]=5",
   "f[]=blocks&op[blocks]=*", "f[]=parent_id&op[parent_id]=~&v[parent_id][]=1", "f[]=created_on&op[created_on]=t", "f[]=updated_by&op[updated_by]==&v[updated_by][]=me", "f[]=any_searchable&op[any_searchable]=~&v[any_searchable][]=row"].map do |filter|
    rest(:get, "/issues.json?sort=id&#{filter}")["total_count"]
  end
end
step("time entries") do
  3.times { |n| rest(:post, "/time_entries.json", time_entry: { issue_id: 1 + n, hours: 1.25 * (n + 1), activity_id: TimeEntryActivity.first.id, spent_on: "2024-01-0#{n + 1}" }) }
  rest(:get, "/time_entries.json?spent_on=%3E%3D2024-01-02")
end
step("wiki") do
  rest(:put, "/projects/garden/wiki/Start.json", wiki_page: { text: "h1. Start\n\n[[Other]] #1 *bold*" })
  rest(:put, "/projects/garden/wiki/Other.json", wiki_page: { text: "other", parent_title: "Start", comments: "second" })
  rest(:put, "/projects/garden/wiki/Other.json", wiki_page: { text: "other, changed" })
  rest(:get, "/projects/garden/wiki/index.json")
end
step("an upload") do
  $pages.post "/uploads.json?filename=a.txt", params: "some bytes", headers: { "X-Redmine-API-Key" => $key, "Content-Type" => "application/octet-stream" }
  rest(:put, "/issues/1.json", issue: { uploads: [{ token: JSON.parse($pages.response.body)["upload"]["token"], filename: "a.txt", content_type: "text/plain" }] })
  rest(:get, "/issues/1.json?include=attachments")["issue"]["attachments"].map { |one| one.slice("filename", "filesize") }
end
step("news, boards, documents") do
  project = Project.find("garden")
  News.create!(project: project, author: User.first, title: "News", description: "of the day")
  board = Board.create!(project: project, name: "Talk", description: "about it")
  topic = Message.create!(board: board, author: User.first, subject: "Topic", content: "first")
  Message.create!(board: board, author: User.first, subject: "Re", content: "second", parent: topic)
  Document.create!(project: project, category: DocumentCategory.first, title: "Plan", description: "of it")
  [board.reload.messages_count, topic.reload.replies_count]
end
{ "/" => [], "/my/page" => [], "/projects" => ["Garden"], "/projects/garden" => ["Garden"], "/projects/garden/activity" => ["Plant"], "/projects/garden/roadmap" => ["Spring"], "/issues/1" => ["a.txt"],
  "/projects/garden/issues?set_filter=1&group_by=assigned_to&t[]=estimated_hours" => ["Plant"], "/projects/garden/issues/gantt" => ["Plant"], "/projects/garden/issues/calendar" => [],
  "/projects/garden/issues/report" => [], "/projects/garden/time_entries/report?criteria[]=user&criteria[]=issue&columns=month" => [], "/projects/garden/wiki/Start" => ["bold"], "/projects/garden/wiki/Other/history" => [],
  "/search?q=row" => ["Plant"], "/search?q=other&all_words=1" => ["Other"], "/projects/garden/news" => ["of the day"], "/projects/garden/boards" => ["Talk"], "/projects/garden/documents" => ["Plan"], "/users/1" => [],
  "/admin/info" => ["PostgreSQL"], "/users" => ["ann"], "/groups" => ["Gardeners"], "/workflows" => [], "/settings" => [], "/projects/garden/issues.csv" => ["Plant"], "/projects/garden/issues.atom" => ["Plant"], "/issues/1.pdf" => [] }
  .each { |path, words| step("page #{path}") { page(path, *words) } }
step("a query is kept") do
  query = IssueQuery.create!(name: "Mine", user: User.first, visibility: 2, filters: { "status_id" => { operator: "o", values: [""] } }, group_by: "tracker", sort_criteria: [["id", "asc"]])
  [query.issue_count, query.result_count_by_group.values, query.total_by_group_for(:estimated_hours).values.map(&:to_s)]
end
step("a project is copied") do
  copy = Project.new(name: "Copy", identifier: "copy")
  must(copy.copy(Project.find("garden")), "copied")
  [copy.reload.issues.count, copy.issues.sum(:estimated_hours), copy.wiki.pages.count]
end
step("an issue goes, with its tree") do
  rest(:delete, "/issues/1.json")
  [Issue.count, Journal.count, Watcher.count, TimeEntry.count, Attachment.where(container_type: "Issue").count]
end
step("a project goes") do
  rest(:delete, "/projects/garden.json")
  [Project.pluck(:identifier), Issue.count, Message.count, WikiPage.count, Member.count]
end
