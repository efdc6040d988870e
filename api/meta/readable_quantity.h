// Quantities as people read them, in tables and on pages: cpu in cores ("99.626"; below one core "250m"), bytes with a
// binary suffix and at most four digits ("227.4Gi"), all else as a count ("1024"). For programs, and for the API, is
// Quantity::text(). Rounded, so two quantities that differ can read alike. Pure.
//
// The dashboard's page does the same in commands/dashboard/page/src/words.ts; the table
// test/api/meta/readable_quantities.json holds for both.
#pragma once

#include <string>
#include <string_view>

#include "api/meta/quantity.h"

namespace muster {

std::string readable_quantity(std::string_view resource, const Quantity& quantity);
// Of a quantity as text ("244186889246"). What is no quantity stays as it is: it comes from another version of muster.
std::string readable_quantity(std::string_view resource, std::string_view text);

}  // namespace muster
