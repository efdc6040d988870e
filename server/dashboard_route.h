// The dashboard's page at muster's own port, for those who put it behind an ingress and a proxy with login:
//   GET /dashboard/            the page and its files
//   GET /dashboard/api/...     lists and explanations, as /lists/v1/ and /explain/v1/ answer them
//
// Off unless MusterConfiguration says `dashboard: true`. The files are the same for every user and hold no data. For
// data a user's token must come as Authorization: Bearer, put there by the proxy; rights are asked for each question as
// the other readers' are. There is no cookie and no session here, and no header that names a user is read, so that
// whoever reaches the port directly can do no more than with their own token.
//
// A page of another origin in the same browser can send requests that the proxy completes with the user's token. It
// cannot read the answers, and nothing can be changed; such requests are refused nevertheless.
#pragma once

#include <optional>
#include <span>

#include "server/explain_route.h"
#include "server/lists_route.h"
#include "server/page_files.h"

namespace muster::server {

inline constexpr std::string_view kDashboardPath = "/dashboard/";

// `files` must outlive the routes. The authorizers of `lister` and `explainer` take users' tokens.
Routes dashboard_routes(std::span<const EmbeddedFile> files, std::optional<Lister> lister,
                        std::optional<Explainer> explainer);

}  // namespace muster::server
