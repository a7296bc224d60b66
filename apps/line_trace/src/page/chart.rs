//! SVG charts: axes and series. The page's style sheet sets the colours.

use std::fmt::Write;

/// Width of a chart in its own units, about one pixel each.
const WIDTH: f64 = 720.0;
/// Margins of the plot: left for figures; right; top; bottom for figures and the axis title.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const ABOVE: f64 = 12.0;
const BELOW: f64 = 44.0;
/// Largest width of a digit.
const FIGURE: f64 = 8.0;

/// An axis from one value to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Axis {
    /// A linear axis from `from` to a round value of at least `to`.
    pub fn even(from: f64, to: f64) -> Self {
        let step = step(from, to);
        let from = (from / step + 1e-9).floor() * step;
        let to = ((to / step - 1e-9).ceil() * step).max(from + step);
        Self { from, to, logarithmic: false }
    }

    /// A linear axis from `from` to exactly `to`.
    pub fn exactly(from: f64, to: f64) -> Self {
        Self { from, to: to.max(from + f64::MIN_POSITIVE), logarithmic: false }
    }

    /// A logarithmic axis over the whole powers of ten that include both values, which are positive.
    pub fn logarithmic(from: f64, to: f64) -> Self {
        let (from, to) = (10f64.powf(from.log10().floor()), 10f64.powf(to.log10().ceil()));
        Self { from, to: to.max(from * 10.0), logarithmic: true }
    }

    /// Position of a value on the axis, 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        let scaled = |value: f64| if self.logarithmic { value.max(1e-9).log10() } else { value };
        (scaled(value) - scaled(self.from)) / (scaled(self.to) - scaled(self.from))
    }

    /// The value at this position.
    pub fn at(&self, share: f64) -> f64 {
        if self.logarithmic {
            self.from * (self.to / self.from).powf(share)
        } else {
            self.from + share * (self.to - self.from)
        }
    }

    /// The values that are labelled.
    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let powers = self.from.log10().round() as i32..=self.to.log10().round() as i32;
            return powers.map(|power| 10f64.powi(power)).collect();
        }
        let step = step(self.from, self.to);
        let first = (self.from / step - 1e-9).ceil() as i64;
        let last = (self.to / step + 1e-9).floor() as i64;
        (first..=last).map(|index| index as f64 * step).collect()
    }
}

/// A round distance between ticks that gives four to eight of them.
fn step(from: f64, to: f64) -> f64 {
    let rough = ((to - from) / 4.0).max(1e-9);
    let power = 10f64.powf(rough.log10().floor());
    let round = [5.0, 2.0, 1.0].into_iter().find(|times| times * power <= rough).unwrap_or(1.0);
    round * power
}

/// A plot with a horizontal and a vertical axis, and the series drawn in it.
pub struct Chart {
    x: Axis,
    y: Axis,
    height: f64,
    body: String,
}

impl Chart {
    /// A plot of this height with titled axes.
    pub fn new(height: f64, (x, x_name): (Axis, &str), (y, y_name): (Axis, &str)) -> Self {
        let mut chart = Self { x, y, height, body: String::new() };
        chart.draw_axes(x_name, y_name);
        chart
    }

    /// A plot without a vertical axis: named rows, from 0 at the top.
    pub fn of_rows(height: f64, (x, x_name): (Axis, &str), names: &[&str]) -> Self {
        let rows = Axis::exactly(0.0, names.len() as f64);
        let mut chart = Self { x, y: rows, height, body: String::new() };
        chart.draw_x_axis(x_name);
        for (row, name) in names.iter().enumerate() {
            let y = chart.row(row as f64 + 0.5) - 20.0;
            chart.text((LEFT, y), "start", "name", name);
        }
        chart
    }

    /// A line through these points, clamped to the axes.
    pub fn line(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        let mut path = String::new();
        for (x, y) in points {
            let (x, y) = (self.across(x), self.up(y));
            let _ = write!(path, "{}{x:.1},{y:.1}", if path.is_empty() { "" } else { " " });
        }
        self.put(format_args!("<polyline class=\"{class}\" points=\"{path}\"/>"));
    }

    /// A bar from the bottom, with a tooltip.
    pub fn bar(&mut self, (from, to): (f64, f64), height: f64, tooltip: &str) {
        let (left, right, top) = (self.across(from), self.across(to), self.up(height));
        let (width, tall) = ((right - left - 1.0).max(1.0), self.up(0.0_f64.max(self.y.from)) - top);
        self.put(format_args!(
            "<rect class=\"bar\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{tall:.1}\"><title>{tooltip}</title></rect>"
        ));
    }

    /// A box from the second to the fourth of five values, with the third as a line in it and whiskers to the first
    /// and the last.
    pub fn quartiles(&mut self, row: usize, values: [f64; 5], tooltip: &str) {
        let [least, low, middle, high, most] = values.map(|value| self.across(value));
        let y = self.row(row as f64 + 0.5);
        let (top, bottom) = (y - 10.0, y + 10.0);
        self.put(format_args!("<g class=\"quartiles\"><title>{tooltip}</title>"));
        self.put(format_args!("<path d=\"M{least:.1} {y:.1}H{low:.1}M{high:.1} {y:.1}H{most:.1}\"/>"));
        for end in [least, most] {
            self.put(format_args!("<path d=\"M{end:.1} {:.1}V{:.1}\"/>", y - 6.0, y + 6.0));
        }
        let width = (high - low).max(1.0);
        self.put(format_args!("<rect x=\"{low:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"20\"/>"));
        self.put(format_args!("<path class=\"middle\" d=\"M{middle:.1} {top:.1}V{bottom:.1}\"/></g>"));
    }

    /// The finished SVG, with a label for screen readers.
    pub fn svg(self, label: &str) -> String {
        let Self { height, body, .. } = self;
        format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{label}\">\n{body}</svg>\n")
    }

    fn draw_axes(&mut self, x_name: &str, y_name: &str) {
        let (left, right) = (LEFT, WIDTH - RIGHT);
        for tick in self.y.ticks() {
            let y = self.up(tick);
            self.put(format_args!("<path class=\"grid\" d=\"M{left} {y:.1}H{right}\"/>"));
            self.text((left - 8.0, y + 4.0), "end", "figure", &figure(tick));
        }
        self.draw_x_axis(x_name);
        let middle = (ABOVE + self.height - BELOW) / 2.0;
        self.put(format_args!(
            "<text class=\"name\" text-anchor=\"middle\" transform=\"translate(14 {middle:.1}) rotate(-90)\">{y_name}</text>"
        ));
    }

    fn draw_x_axis(&mut self, name: &str) {
        let bottom = self.height - BELOW;
        for tick in self.x.ticks() {
            let x = self.across(tick);
            self.put(format_args!("<path class=\"grid\" d=\"M{x:.1} {ABOVE}V{bottom}\"/>"));
            let text = figure(tick);
            let is_cut = x + text.len() as f64 * FIGURE / 2.0 > WIDTH;
            let (x, anchor) = if is_cut { (WIDTH, "end") } else { (x, "middle") };
            self.text((x, bottom + 16.0), anchor, "figure", &text);
        }
        self.put(format_args!("<path class=\"axis\" d=\"M{LEFT} {bottom}H{}\"/>", WIDTH - RIGHT));
        self.text(((LEFT + WIDTH - RIGHT) / 2.0, bottom + 36.0), "middle", "name", name);
    }

    fn text(&mut self, (x, y): (f64, f64), anchor: &str, class: &str, text: &str) {
        self.put(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    fn across(&self, value: f64) -> f64 {
        LEFT + self.x.share(value).clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn up(&self, value: f64) -> f64 {
        let bottom = self.height - BELOW;
        bottom - self.y.share(value).clamp(0.0, 1.0) * (bottom - ABOVE)
    }

    /// The vertical position of a row, counted from the top.
    fn row(&self, row: f64) -> f64 {
        ABOVE + self.y.share(row) * (self.height - BELOW - ABOVE)
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }
}

/// The shortest text of a tick's value.
fn figure(value: f64) -> String {
    let rounded = format!("{value:.4}");
    let short = rounded.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_axis_ends_at_round_values() {
        let axis = Axis::even(0.0, 0.287);
        assert!(axis.from == 0.0 && (axis.to - 0.3).abs() < 1e-12, "{axis:?}");
        let ticks: Vec<String> = axis.ticks().into_iter().map(figure).collect();
        assert_eq!(ticks, ["0", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3"]);
        assert_eq!(Axis::even(-9.0, 12.0).ticks().first(), Some(&-10.0));
    }

    #[test]
    fn logarithmic_axis_has_powers_of_ten() {
        let axis = Axis::logarithmic(23.0, 4100.0);
        assert_eq!(axis.ticks(), [10.0, 100.0, 1000.0, 10_000.0]);
        assert!((axis.share(100.0) - 1.0 / 3.0).abs() < 1e-9);
        assert!(
            (axis.at(1.0 / 3.0) - 100.0).abs() < 1e-9 && (Axis::even(0.0, 8.0).at(0.5) - 4.0).abs() < 1e-9
        );
        assert!(axis.share(0.0) < 0.0, "what is not positive is left of it");
    }

    #[test]
    fn empty_range_gives_a_valid_axis() {
        for axis in [Axis::even(0.0, 0.0), Axis::exactly(0.0, 0.0), Axis::logarithmic(1.0, 1.0)] {
            assert!(axis.share(0.0).is_finite(), "{axis:?}");
            assert!(!axis.ticks().is_empty(), "{axis:?}");
        }
    }

    #[test]
    fn last_axis_figure_stays_inside_picture() {
        let chart = Chart::of_rows(100.0, (Axis::logarithmic(10.0, 1e6), "x"), &["a"]);
        let svg = chart.svg("a test");
        assert!(svg.contains("x=\"720.0\" y=\"72.0\" text-anchor=\"end\">1000000<"), "{svg}");
        assert!(svg.contains("text-anchor=\"middle\">100000<"), "{svg}");
    }

    #[test]
    fn values_beyond_the_axes_are_clamped() {
        let mut chart = Chart::new(200.0, (Axis::even(0.0, 1.0), "x"), (Axis::even(0.0, 1.0), "y"));
        chart.line("speed", [(0.0, 0.0), (2.0, 5.0)]);
        let svg = chart.svg("a test");
        assert!(svg.contains("points=\"64.0,156.0 696.0,12.0\""), "{svg}");
    }
}
