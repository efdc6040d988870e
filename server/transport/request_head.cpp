#include "server/transport/request_head.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/whole_number.h"

namespace muster::server {

namespace {

constexpr std::string_view kLineEnd = "\r\n";

using Refused = std::optional<HttpRefusal>;

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool consists_of(std::string_view text, std::string_view marks) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_alphanumeric(c) || marks.find(c) != std::string_view::npos; });
}

bool is_token(std::string_view text) {
  return !text.empty() && consists_of(text, "!#$%&'*+-.^_`|~");
}

// RFC 6750 section 2.1.
bool is_bearer_token(std::string_view text) {
  return consists_of(text, "-._~+/=");
}

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return small_letter(x) == small_letter(y); });
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool lists_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (same_word(trim(list.substr(0, comma)), word)) return true;
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
  return false;
}

// The headers on which decisions depend. Each can occur only once: with two values for one of them, requests
// can be smuggled past a proxy that uses the other value.
struct KnownHeaders {
  std::optional<std::string_view> host, content_length, transfer_encoding, content_encoding, content_type, expect,
      connection, authorization, own_token;

  std::optional<std::string_view>* find(std::string_view name) {
    if (same_word(name, "host")) return &host;
    if (same_word(name, "content-length")) return &content_length;
    if (same_word(name, "transfer-encoding")) return &transfer_encoding;
    if (same_word(name, "content-encoding")) return &content_encoding;
    if (same_word(name, "content-type")) return &content_type;
    if (same_word(name, "expect")) return &expect;
    if (same_word(name, "connection")) return &connection;
    if (same_word(name, "authorization")) return &authorization;
    if (same_word(name, "x-muster-token")) return &own_token;
    return nullptr;
  }
};

Refused read_header(std::string_view line, KnownHeaders& known) {
  if (line.front() == ' ' || line.front() == '\t') return HttpRefusal{400, "folded header lines are not accepted"};
  const auto colon = line.find(':');
  const auto name = line.substr(0, colon);
  if (colon == std::string_view::npos || !is_token(name)) {
    return HttpRefusal{400, "a header line is not of the form \"name: value\""};
  }
  const auto value = trim(line.substr(colon + 1));
  const bool clean = std::all_of(value.begin(), value.end(), [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  });
  if (!clean) return HttpRefusal{400, "a header value contains control characters"};
  if (auto* slot = known.find(name)) {
    if (*slot) return HttpRefusal{400, "the header " + std::string(name) + " is given twice"};
    *slot = value;
  }
  return std::nullopt;
}

struct RequestLine {
  std::string_view method, target;
};

Result<RequestLine, HttpRefusal> read_request_line(std::string_view line) {
  const auto first = line.find(' ');
  const auto second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) {
    return fail_with(HttpRefusal{400, "the request line is not of the form \"METHOD /path HTTP/1.1\""});
  }
  const RequestLine parts{line.substr(0, first), line.substr(first + 1, second - first - 1)};
  const auto version = line.substr(second + 1);
  const bool visible =
      std::all_of(parts.target.begin(), parts.target.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!is_token(parts.method) || parts.target.empty() || parts.target.front() != '/' || !visible ||
      version.size() != 8 || version.substr(0, 5) != "HTTP/") {
    return fail_with(HttpRefusal{400, "the request line is not of the form \"METHOD /path HTTP/1.1\""});
  }
  if (version != "HTTP/1.1") return fail_with(HttpRefusal{505, "only HTTP/1.1 is spoken here"});
  return parts;
}

// `lines` have been read once, so they are well-formed.
void keep_headers(std::string_view lines, RequestHead& head) {
  while (lines != kLineEnd) {
    const auto end = lines.find(kLineEnd);
    const auto line = lines.substr(0, end);
    const auto colon = line.find(':');
    head.headers.emplace_back(line.substr(0, colon), trim(line.substr(colon + 1)));
    lines.remove_prefix(end + kLineEnd.size());
  }
}

std::string_view to_word(HttpMethod method) {
  return method == HttpMethod::kGet ? "GET" : "POST";
}

// Longer than a namespace, a kind and a name can be.
constexpr size_t kMaxBehindPrefix = 512;

bool serves(const Route& route, std::string_view path) {
  if (!route.prefix) return route.path == path;
  if (!path.starts_with(route.path)) return false;
  const std::string_view rest = path.substr(route.path.size());
  return rest.size() <= kMaxBehindPrefix && consists_of(rest, "-./");
}

Result<const Route*, HttpRefusal> find_route(const RequestLine& line, const Routes& routes) {
  const auto path = line.target.substr(0, line.target.find('?'));
  std::string_view allowed;
  for (const auto& route : routes) {
    if (!serves(route, path)) continue;
    if (to_word(route.method) == line.method) return &route;
    allowed = to_word(route.method);
  }
  if (allowed.empty()) return fail_with(HttpRefusal{404, "there is nothing at this path"});
  return fail_with(HttpRefusal{405, "this path takes " + std::string(allowed) + " only", allowed});
}

Refused read_length(const KnownHeaders& known, size_t limit, size_t& length) {
  if (known.transfer_encoding) {
    if (known.content_length) return HttpRefusal{400, "Transfer-Encoding and Content-Length exclude each other"};
    if (same_word(*known.transfer_encoding, "chunked")) {
      return HttpRefusal{411, "chunked bodies are not accepted; send Content-Length"};
    }
    return HttpRefusal{501, "transfer codings are not implemented; send Content-Length"};
  }
  if (!known.content_length) return std::nullopt;
  const auto digits = *known.content_length;
  const bool all_digits =
      !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!all_digits) return HttpRefusal{400, "Content-Length is not a decimal number"};
  const auto value = whole_number<size_t>(digits);
  if (!value || *value > limit) return HttpRefusal{413, "the body is larger than " + std::to_string(limit) + " bytes"};
  length = *value;
  return std::nullopt;
}

Refused check_body(HttpMethod method, const KnownHeaders& known, size_t length) {
  if (method == HttpMethod::kGet) {
    if (length > 0) return HttpRefusal{400, "a GET request must not have a body"};
    return std::nullopt;
  }
  if (!known.content_length) return HttpRefusal{411, "Content-Length is required"};
  if (known.content_encoding && !same_word(*known.content_encoding, "identity")) {
    return HttpRefusal{415, "compressed bodies are not accepted; send the body without Content-Encoding"};
  }
  const auto type = known.content_type.value_or("");
  if (!same_word(trim(type.substr(0, type.find(';'))), "application/json")) {
    return HttpRefusal{415, "the content type must be application/json"};
  }
  return std::nullopt;
}

Refused read_known(const KnownHeaders& known, RequestHead& head) {
  if (!known.host) return HttpRefusal{400, "the Host header is missing"};
  if (known.expect) {
    if (!same_word(*known.expect, "100-continue")) return HttpRefusal{417, "only Expect: 100-continue can be met"};
    head.expects_continue = true;
  }
  head.wants_close = known.connection && lists_word(*known.connection, "close");
  constexpr std::string_view kBearer = "Bearer ";
  if (known.authorization && same_word(known.authorization->substr(0, kBearer.size()), kBearer)) {
    head.bearer_token = trim(known.authorization->substr(kBearer.size()));
    if (!is_bearer_token(head.bearer_token))
      return HttpRefusal{400, "the bearer token contains characters that no token has"};
  }
  if (known.own_token) {
    head.own_token = *known.own_token;
    if (!is_bearer_token(head.own_token))
      return HttpRefusal{400, "X-Muster-Token contains characters that no token has"};
  }
  return std::nullopt;
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 411:
      return "Length Required";
    case 413:
      return "Payload Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
}

}  // namespace

Result<std::optional<size_t>, HttpRefusal> find_head_end(std::string_view buffered, size_t& searched,
                                                         const HttpLimits& limits) {
  const auto end = buffered.find("\r\n\r\n", searched);
  const size_t head = end == std::string_view::npos ? buffered.size() : end + 4;
  if (head > limits.max_head_bytes) {
    const bool first_line = buffered.substr(0, limits.max_head_bytes).find(kLineEnd) == std::string_view::npos;
    if (first_line) return fail_with(HttpRefusal{414, "the request line is too long"});
    return fail_with(HttpRefusal{
        431, "request line and headers are larger than " + std::to_string(limits.max_head_bytes) + " bytes"});
  }
  if (end != std::string_view::npos) return std::optional<size_t>(head);
  searched = buffered.size() < 3 ? 0 : buffered.size() - 3;
  return std::optional<size_t>();
}

Result<RequestHead, HttpRefusal> parse_head(std::string_view head, const Routes& routes, const HttpLimits& limits) {
  RequestHead result;
  result.size = head.size();
  const auto line_end = head.find(kLineEnd);
  if (line_end > limits.max_line_bytes) return fail_with(HttpRefusal{414, "the request line is too long"});
  const auto line = read_request_line(head.substr(0, line_end));
  if (!line) return fail_with(line.error());

  KnownHeaders known;
  for (auto rest = head.substr(line_end + 2); rest != kLineEnd;) {
    const auto end = rest.find(kLineEnd);
    if (end > limits.max_line_bytes) return fail_with(HttpRefusal{431, "a header line is too long"});
    if (auto refusal = read_header(rest.substr(0, end), known)) return fail_with(*refusal);
    rest = rest.substr(end + 2);
  }

  const auto route = find_route(*line, routes);
  if (!route) return fail_with(route.error());
  result.route = *route;
  result.target = line->target;
  if (result.route->identified) keep_headers(head.substr(line_end + kLineEnd.size()), result);
  if (auto refusal = read_known(known, result)) return fail_with(*refusal);
  const size_t own_limit = result.route->max_body_bytes;
  const size_t limit = own_limit > 0 ? own_limit : limits.max_body_bytes;
  if (auto refusal = read_length(known, limit, result.content_length)) return fail_with(*refusal);
  if (auto refusal = check_body(result.route->method, known, result.content_length)) return fail_with(*refusal);
  return result;
}

std::string to_wire(const HttpRefusal& refusal) {
  std::string text = "HTTP/1.1 " + std::to_string(refusal.status) + " ";
  text += reason_phrase(refusal.status);
  text += "\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n";
  if (!refusal.allow.empty()) text += "Allow: " + std::string(refusal.allow) + "\r\n";
  text += "Content-Length: " + std::to_string(refusal.message.size() + 1) + "\r\n\r\n";
  return text + refusal.message + "\n";
}

std::string_view header_of(const HttpRequest& request, std::string_view name) {
  for (const HttpHeader& header : request.headers) {
    if (in_small_letters(header.name) == name) return header.value;
  }
  return {};
}

}  // namespace muster::server
