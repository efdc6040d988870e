#include "commands/simulate/plots.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "commands/simulate/report.h"
#include "commands/terminal/escape.h"
#include "scheduler/eligibility.h"

namespace muster::commands {
namespace {

constexpr double kWidth = 960, kHeight = 200;  // of a drawing, which is stretched to the width of the page
// Colors that most people with a color vision deficiency can distinguish (after Okabe and Ito), then the same
// colors, lighter. They have a contrast of 3 and more to white or to the dark ground; a thin line is around each.
constexpr std::array kQueueColors = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
                                     "#d8c52c", "#7f7f7f", "#8fb8d8", "#f3cf80", "#80cfb9", "#e6bcd3"};
constexpr std::array kFlavorColors = {"#7b5cb8", "#8a5a2b", "#6b8e23", "#c2185b", "#3f8f93",
                                      "#b3a0d9", "#c99a6b", "#a9c46c", "#e58aad", "#8fc7ca"};

std::string color(size_t number, Palette palette) {
  return palette == Palette::kQueues ? kQueueColors[number % kQueueColors.size()]
                                     : kFlavorColors[number % kFlavorColors.size()];
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

// The axis of time below a plot.
std::string time_axis(double seconds) {
  std::string text = "<p class=\"times\">";
  constexpr int kMarks = 6;
  for (int i = 0; i <= kMarks; ++i) text += "<span>" + span_text(seconds * i / kMarks) + "</span>";
  return text + "</p>\n";
}

std::string svg(double height, const char* of_class, const std::string& label, const std::string& content) {
  return "<svg role=\"img\" class=\"" + std::string(of_class) + "\" viewBox=\"0 0 " + number(kWidth) + " " +
         number(height) + "\" preserveAspectRatio=\"none\"><title>" + escape_xml(label) + "</title>" + content +
         "</svg>";
}

}  // namespace

std::string stacked_plot(const PlotFrame& frame, const std::vector<Series>& series) {
  size_t spans = 0;
  for (const Series& one : series) spans = std::max(spans, one.values.size());
  std::vector<double> below(spans);
  double most = frame.most;
  for (const Series& one : series) {
    for (size_t i = 0; i < one.values.size(); ++i) most = std::max(most, below[i] += one.values[i]);
  }
  if (most <= 0) most = 1;
  std::fill(below.begin(), below.end(), 0);
  const double width = frame.seconds > 0 ? kWidth * std::min(frame.covered / frame.seconds, 1.0) : 0;
  const auto x = [&](size_t span) {
    return width * static_cast<double>(span) / static_cast<double>(std::max<size_t>(spans, 1));
  };
  const auto y = [&](double value) { return kHeight * (1 - value / most); };
  std::string content;
  for (size_t number_of = 0; number_of < series.size(); ++number_of) {
    // Steps: along the top from the left, back along the bottom.
    std::string top, bottom;
    for (size_t i = 0; i < spans; ++i) {
      const double value = i < series[number_of].values.size() ? series[number_of].values[i] : 0;
      const std::string from = number(x(i)) + ",", to = number(x(i + 1)) + ",";
      top += from + number(y(below[i] + value)) + " " + to + number(y(below[i] + value)) + " ";
      bottom = to + number(y(below[i])) + " " + from + number(y(below[i])) + " " + bottom;
      below[i] += value;
    }
    const std::string look = frame.of_queues ? "fill=\"" + color(number_of, Palette::kQueues) : "class=\"waits";
    content += "<polygon " + look + "\" points=\"" + top + bottom + "\"><title>" + escape_xml(series[number_of].name) +
               "</title></polygon>";
  }
  std::string limit;
  if (frame.limit > 0 && frame.limit <= most) {
    const std::string at = number(y(frame.limit));
    content += "<line class=\"limit\" x1=\"0\" y1=\"" + at + "\" x2=\"" + number(kWidth) + "\" y2=\"" + at + "\"/>";
    limit = "<span class=\"of-limit\">" + escape_xml(frame.limit_text) + "</span>";
  }
  return "<div class=\"plot\"><p class=\"top\"><span>" + escape_xml(frame.most_text) + "</span>" + limit + "</p>" +
         svg(kHeight, "area", frame.title, content) + time_axis(frame.seconds) + "</div>\n";
}

std::string gantt_plot(double seconds, const std::vector<GanttRow>& rows) {
  constexpr double kRow = 12;
  const double whole = seconds > 0 ? seconds : 1;
  const auto x = [&](double at) { return kWidth * at / whole; };
  std::string text = "<div class=\"gantt\">\n";
  for (const GanttRow& row : rows) {
    std::string bars;
    for (const GanttBar& bar : row.bars) {
      const double width = std::max(x(bar.to) - x(bar.from), 0.5);
      bars += "<rect x=\"" + number(x(bar.from)) + "\" y=\"" + (bar.waits ? "4.0" : "1.0") + "\" width=\"" +
              number(width) + "\" height=\"" + (bar.waits ? "4.0" : "10.0") + "\"";
      const std::string of_class = std::string(bar.waits ? "waits" : "") + (bar.evicted ? " evicted" : "");
      if (!bar.waits) bars += " fill=\"" + color(bar.color, Palette::kFlavors) + "\"";
      if (!of_class.empty()) bars += " class=\"" + of_class + "\"";
      bars += "><title>" + escape_xml(bar.text) + "</title></rect>";
    }
    // A long name is cut where the bars begin; pointed at, it is shown in full.
    const std::string name = escape_xml(row.name);
    text += "<div class=\"job\"><span title=\"" + name + "\">" + name + "</span>" + svg(kRow, "bars", row.name, bars) +
            "</div>\n";
  }
  return text + "<div class=\"job\"><span></span>" + time_axis(seconds) + "</div></div>\n";
}

std::string legend(const std::vector<std::string>& names, Palette palette) {
  std::string text = "<p class=\"legend\">";
  for (size_t i = 0; i < names.size(); ++i)
    text += "<span><i style=\"background:" + color(i, palette) + "\"></i> " + escape_xml(names[i]) + "</span> ";
  return text + "</p>\n";
}

}  // namespace muster::commands
