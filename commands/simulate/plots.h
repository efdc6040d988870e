// Plots as inline SVG. Texts are escaped here. Pure.
#pragma once

#include <string>
#include <vector>

namespace muster::commands {

struct Series {
  std::string name;
  std::vector<double> values;  // averages of equal spans
};

struct PlotFrame {
  std::string title;
  double seconds = 0;       // from the left to the right
  double covered = 0;       // of them, what the values are about; nothing is drawn after them
  double most = 0;          // at the top; at least the largest value is shown
  std::string most_text{};  // that value in its unit
  double limit = 0;         // a dashed line; 0: none
  std::string limit_text{};
  bool of_queues = true;  // the series are queues; a number of something else is in the color of waiting
};

// Queues and flavors are never in the same color, so that a page with both has one meaning for each.
enum class Palette { kQueues, kFlavors };

// The series stand on each other, the first at the bottom, in the colors of kQueues. Texts are beside the drawing and
// not in it: it is as wide as the screen, and they stay readable.
std::string stacked_plot(const PlotFrame& frame, const std::vector<Series>& series);

// One row of a plan of jobs: when it waited and when it ran. Seconds.
struct GanttBar {
  double from = 0, to = 0;
  size_t color = 0;  // of kFlavors
  bool waits = false;
  bool evicted = false;
  std::string text;  // shown when pointed at
};
struct GanttRow {
  std::string name;
  std::vector<GanttBar> bars;
};
std::string gantt_plot(double seconds, const std::vector<GanttRow>& rows);

// The names of the colors, in their order.
std::string legend(const std::vector<std::string>& names, Palette palette);

}  // namespace muster::commands
