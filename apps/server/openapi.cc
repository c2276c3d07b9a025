#include "server/openapi.h"

#include <algorithm>
#include <cmath>

#include "quorate/base/error.h"
#include "quorate/base/number.h"
#include "quorate/params/json.h"

namespace quorate::server {
namespace {

constexpr std::size_t kLongestBody = 16'384;  // of fields
constexpr Role kRoles[] = {Role::kAnnotator, Role::kData, Role::kWorker, Role::kOwner};

struct Refusal {
  int status;
  const char *name, *description;
};
constexpr Refusal kRefusals[] = {
    {400, "Unexpected", "The request is not as expected."},
    {401, "NoToken", "A token is needed."},
    {403, "NotAllowed", "This token does not allow it."},
    {404, "NotFound", "Not found."},
    {409, "Conflict", "It was answered otherwise, or there is nothing to undo."},
    {410, "Expired", "The lease has expired."},
    {413, "TooLong", "The body is too long."},
    {415, "WrongType", "The body's type is not accepted."},
    {422, "Unaccepted", "The value is not accepted."},
    {500, "Unreadable", "A file cannot be read."},
    {503, "Unavailable", "Answers are not taken now, or too much waits; the detail gives the reason."},
    {507, "NoMemory", "The learner has no memory to learn more; nothing was saved."}};

Json reference(const char* kind, std::string_view name) {
  return {{"$ref", "#/components/" + std::string(kind) + "/" + std::string(name)}};
}

Json number_json(double v) { return v == std::floor(v) ? Json(static_cast<std::int64_t>(v)) : Json(v); }

/// Not of nullable: their type and their limits.
Json schema_of(const FieldRule& rule) {
  switch (rule.type) {
    case FieldRule::kText:
      if (!std::isfinite(rule.range.hi)) return {{"type", "string"}};
      return {{"type", "string"},
              {"minLength", number_json(rule.range.lo)},
              {"maxLength", number_json(rule.range.hi)},
              {"pattern", "^[^\\x00-\\x1f\\x7f]+$"}};
    case FieldRule::kWhole:
    case FieldRule::kNumber:
      return {{"type", rule.type == FieldRule::kWhole ? "integer" : "number"},
              {"minimum", number_json(rule.range.lo)},
              {"maximum", number_json(rule.range.hi)}};
    case FieldRule::kFlag:
      return {{"type", "boolean"}};
    case FieldRule::kObject:
      return {{"type", "object"}};
    case FieldRule::kList:
      return {{"type", "array"}};
  }
  return {};
}

Json body_of(const Operation& operation) {
  if (operation.judged)
    return {{"application/x-ndjson",
             {{"schema",
               {{"type", "string"},
                {"description", "A line with source, read, positions and probabilities, then an example a line."}}}}}};
  if (operation.lines) {
    const Json example = reference("schemas", "Example");
    return {
        {"application/json", {{"schema", {{"anyOf", {example, {{"type", "array"}, {"items", example}, {"minItems", 1}}}}}}}},
        {"application/x-ndjson", {{"schema", {{"type", "string"}, {"description", "An example a line."}}}}}};
  }
  Json properties = Json::object(), required = Json::array();
  for (const FieldRule& rule : operation.fields) {
    if (rule.in != In::kBody) continue;
    Json schema = schema_of(rule);
    if (rule.nullable) schema = {{"anyOf", {schema, {{"type", "null"}}}}};
    schema["description"] = rule.meaning;
    properties[std::string(rule.name)] = std::move(schema);
    if (rule.required) required.push_back(rule.name);
  }
  return {{"application/json",
           {{"schema",
             {{"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false}}}}}};
}

Json content_of(std::string_view gives) {
  if (gives == "application/x-ndjson")
    return {{gives, {{"schema", {{"type", "string"}, {"description", "A JSON object a line."}}}}}};
  if (gives == "text/event-stream")
    return {{gives,
             {{"schema",
               {{"type", "object"},
                {"description", "Each event: at once, and at most once a second when something changed."},
                {"properties",
                 {{"event", {{"const", "status"}}},
                  {"data",
                   {{"type", "string"},
                    {"contentMediaType", "application/json"},
                    {"contentSchema", reference("schemas", "Status")}}}}}}}}}};
  if (gives == "application/octet-stream") return {{gives, {{"schema", {{"type", "string"}, {"format", "binary"}}}}}};
  if (gives.find('/') != gives.npos) return {{gives, {{"schema", {{"type", "string"}}}}}};
  return {{"application/json", {{"schema", reference("schemas", gives)}}}};
}

Json operation_json(const Operation& operation) {
  const bool body = operation.lines || operation.judged || operation.has(In::kBody);
  Json out{{"operationId", operation.name}, {"summary", operation.summary}};
  std::string description(operation.description);
  if (operation.roles != 0) {
    std::string roles;
    for (const Role role : kRoles)
      if ((operation.roles & bit(role)) != 0) roles.append(roles.empty() ? "" : ", ").append(to_text(role));
    description.append(description.empty() ? "" : " ").append("Roles: ").append(roles).append(".");
  } else {
    out["security"] = Json::array();
  }
  if (!description.empty()) out["description"] = description;
  for (const FieldRule& rule : operation.fields)
    if (rule.in == In::kPath || rule.in == In::kQuery)
      out["parameters"].push_back({{"name", rule.name},
                                   {"in", rule.in == In::kPath ? "path" : "query"},
                                   {"required", rule.required},
                                   {"description", rule.meaning},
                                   {"schema", schema_of(rule)}});
  if (body) out["requestBody"] = {{"required", true}, {"content", body_of(operation)}};
  std::vector<int> refusals = operation.refusals;
  refusals.push_back(400);
  if (operation.roles != 0) refusals.insert(refusals.end(), {401, 403});
  if (body) refusals.insert(refusals.end(), {413, 415});
  if (operation.event) refusals.push_back(503);
  out["responses"]["200"] = {{"description", "Done."}, {"content", content_of(operation.gives)}};
  for (const Refusal& refusal : kRefusals)
    if (std::ranges::find(refusals, refusal.status) != refusals.end())
      out["responses"][std::to_string(refusal.status)] = reference("responses", refusal.name);
  return out;
}

/// A value of a path or a query as JSON, of which the rule's type is expected.
Json value_of(const FieldRule& rule, const std::string& text) {
  if (rule.type != FieldRule::kWhole) return text;
  const auto number = parse_number<std::uint64_t>(text);
  return number ? Json(*number) : Json(nullptr);
}

std::string names_of(const Operation& operation, In in) {
  std::string out;
  for (const FieldRule& rule : operation.fields)
    if (rule.in == in) out.append(out.empty() ? "" : ", ").append(rule.name);
  return out;
}

const FieldRule* rule_of(const Operation& operation, In in, std::string_view name) {
  for (const FieldRule& rule : operation.fields)
    if (rule.in == in && rule.name == name) return &rule;
  return nullptr;
}

void add_body(const Operation& operation, const Request& request, Json& fields) {
  const std::string expected = "a JSON object with " + names_of(operation, In::kBody);
  if (!request.body.empty() && media_type(request) != "application/json")
    throw BadRequest{415, "the content type is " + quoted_value(request.header("content-type")), "application/json"};
  if (request.body.size() > kLongestBody)
    throw BadRequest{413, "the body is too long", std::to_string(kLongestBody) + " bytes at most"};
  Json body = Json::parse(request.body, nullptr, false);
  if (body.is_discarded()) throw BadRequest{400, "the body is not JSON", expected};
  if (!body.is_object()) throw BadRequest{400, "the body is no object", expected};
  for (auto& [key, value] : body.items()) {
    const FieldRule* rule = rule_of(operation, In::kBody, key);
    if (rule == nullptr) throw BadRequest{400, "unknown field " + quoted_value(key), expected};
    if (!rule->accepts_within(value))
      throw BadRequest{
          400,
          "field " + quoted_value(key) + " is " + shown_value(value.dump(-1, ' ', false, Json::error_handler_t::replace)),
          rule->expected()};
    fields[key] = std::move(value);
  }
  for (const FieldRule& rule : operation.fields)
    if (rule.in == In::kBody && rule.required && !fields.contains(rule.name))
      throw BadRequest{400, "no field " + quoted_value(rule.name), expected};
}

}  // namespace

bool Operation::has(In in) const {
  return std::ranges::any_of(fields, [in](const FieldRule& rule) { return rule.in == in; });
}

std::string media_type(const Request& request) {
  const auto type = request.header("content-type");
  std::string out = lower_case(type.substr(0, type.find(';')));
  out.erase(out.find_last_not_of(" \t") + 1);
  return out;
}

Json fields_of(const Operation& operation, const Request& request) {
  Json out = Json::object();
  for (const auto& [name, text] : request.query) {
    const FieldRule* rule = rule_of(operation, In::kQuery, name);
    const std::string names = names_of(operation, In::kQuery);
    if (rule == nullptr)
      throw BadRequest{400, "unknown query parameter " + quoted_value(name), names.empty() ? "none" : names};
    Json value = value_of(*rule, text);
    if (!rule->accepts_within(value))
      throw BadRequest{400, "query parameter " + quoted_value(name) + " is " + quoted_value(text), rule->expected()};
    out[name] = std::move(value);
  }
  for (const FieldRule& rule : operation.fields) {
    if (rule.in != In::kPath) continue;
    const std::string name(rule.name), &text = request.parameters.at(name);
    Json value = value_of(rule, text);
    if (!rule.accepts_within(value))
      throw BadRequest{404, "there is no " + name + " " + quoted_value(text), rule.expected()};
    out[name] = std::move(value);
  }
  if (operation.has(In::kBody)) add_body(operation, request, out);
  return out;
}

Json openapi(std::span<const Operation* const> operations) {
  Json out = Json::parse(schema_assets().front().bytes);
  for (const Operation* operation : operations)
    out["paths"][std::string(operation->path)][lower_case(operation->method)] = operation_json(*operation);
  for (const Refusal& refusal : kRefusals)
    out["components"]["responses"][refusal.name] = {
        {"description", refusal.description},
        {"content", {{"application/problem+json", {{"schema", reference("schemas", "Problem")}}}}}};
  return out;
}

}  // namespace quorate::server
