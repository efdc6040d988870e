#include "commands/simulate/plots.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "commands/simulate/report.h"
#include "commands/terminal/escape.h"

namespace muster::commands {
namespace {

constexpr double kLeft = 10, kWidth = 940, kTop = 24, kHeight = 200;
// Colors that most people with a color vision deficiency can distinguish (after Okabe and Ito), then the same
// colors, lighter.
constexpr std::array kColors = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
                                "#f0e442", "#7f7f7f", "#8fb8d8", "#f3cf80", "#80cfb9", "#e6bcd3"};

std::string color(size_t number) {
  return kColors[number % kColors.size()];
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\">" + escape_xml(text) +
         "</text>";
}

std::string line(double x1, double y1, double x2, double y2, const char* of_class) {
  return "<line class=\"" + std::string(of_class) + "\" x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" +
         number(x2) + "\" y2=\"" + number(y2) + "\"/>";
}

// The axis of time below a plot.
std::string time_axis(double seconds, double y) {
  std::string text;
  constexpr int kMarks = 6;
  for (int i = 0; i <= kMarks; ++i) {
    const double share = static_cast<double>(i) / kMarks;
    const char* anchor = i == 0 ? "start" : i == kMarks ? "end" : "middle";
    text += text_at(kLeft + share * kWidth, y + 16, anchor, span_text(seconds * share));
    text += line(kLeft + share * kWidth, y, kLeft + share * kWidth, y + 4, "axis");
  }
  return text + line(kLeft, y, kLeft + kWidth, y, "axis");
}

std::string svg(double height, const std::string& label, const std::string& content) {
  return "<svg role=\"img\" viewBox=\"0 0 960 " + number(height) + "\"><title>" + escape_xml(label) + "</title>" +
         content + "</svg>\n";
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
    return kLeft + width * static_cast<double>(span) / static_cast<double>(std::max<size_t>(spans, 1));
  };
  const auto y = [&](double value) { return kTop + kHeight * (1 - value / most); };
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
    content += "<polygon fill=\"" + color(number_of) + "\" points=\"" + top + bottom + "\"><title>" +
               escape_xml(series[number_of].name) + "</title></polygon>";
  }
  if (frame.limit > 0 && frame.limit <= most) {
    content += line(kLeft, y(frame.limit), kLeft + kWidth, y(frame.limit), "limit");
    content += text_at(kLeft + kWidth, y(frame.limit) - 4, "end", frame.limit_text);
  }
  content += text_at(kLeft, kTop - 8, "start", frame.most_text) + time_axis(frame.seconds, kTop + kHeight);
  return svg(kTop + kHeight + 24, frame.title, content);
}

std::string gantt_plot(double seconds, const std::vector<GanttRow>& rows) {
  constexpr double kRow = 12, kNames = 220;
  const double whole = seconds > 0 ? seconds : 1;
  const auto x = [&](double at) { return kNames + (kLeft + kWidth - kNames) * at / whole; };
  std::string content;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double y = kTop + kRow * static_cast<double>(i);
    // Long names end where the bars begin; a tooltip shows the whole name.
    const std::string shown = rows[i].name.size() > 34 ? rows[i].name.substr(0, 33) + "~" : rows[i].name;
    content += "<g>" + text_at(kNames - 6, y + 9, "end", shown);
    for (const GanttBar& bar : rows[i].bars) {
      const double width = std::max(x(bar.to) - x(bar.from), 0.5);
      content += "<rect x=\"" + number(x(bar.from)) + "\" y=\"" + number(bar.waits ? y + 4 : y + 1) + "\" width=\"" +
                 number(width) + "\" height=\"" + (bar.waits ? "3.0" : "9.0") + "\" fill=\"" +
                 (bar.waits ? "#bbbbbb" : color(bar.color)) + "\"" + (bar.evicted ? " class=\"evicted\"" : "") +
                 "><title>" + escape_xml(bar.text) + "</title></rect>";
    }
    content += "</g>";
  }
  const double end = kTop + kRow * static_cast<double>(rows.size());
  content += text_at(kNames, kTop - 8, "start", "0s") + text_at(kLeft + kWidth, kTop - 8, "end", span_text(seconds)) +
             line(kNames, end + 2, kLeft + kWidth, end + 2, "axis");
  return svg(end + 10, "Jobs over time", content);
}

std::string legend(const std::vector<std::string>& names) {
  std::string text = "<p class=\"legend\">";
  for (size_t i = 0; i < names.size(); ++i)
    text += "<span><i style=\"background:" + color(i) + "\"></i> " + escape_xml(names[i]) + "</span> ";
  return text + "</p>\n";
}

}  // namespace muster::commands
