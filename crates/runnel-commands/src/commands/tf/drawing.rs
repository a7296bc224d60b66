//! Pictures of a tree of frames: text, DOT for Graphviz, and SVG.

use std::fmt::Write as _;

use runnel::tf::FrameInfo;

use super::tree::Tree;
use crate::output::shown;

/// Columns by which a frame is indented below its parent. Deeper frames are indented no further.
const INDENT: usize = 4;
const DEEPEST: usize = 40;

/// Size of a box in an SVG, and the distance to the next one.
const BOX: [usize; 2] = [180, 34];
const GAP: [usize; 2] = [20, 60];

/// The tree as lines with branches, a frame on each.
pub fn text(tree: &Tree) -> String {
    let mut text = String::new();
    // Whether the frame at each depth has siblings below it.
    let mut open: Vec<bool> = Vec::new();
    for row in &tree.rows {
        open.truncate(row.depth);
        let above = open.iter().skip(1).take(DEEPEST);
        above.for_each(|is_open| text.push_str(if *is_open { "│   " } else { "    " }));
        if row.depth > 0 {
            text.push_str(if row.is_last { "└── " } else { "├── " });
        }
        text.push_str(&shown(&row.frame.name));
        if row.frame.parent.is_some() {
            let about = summary(&row.frame);
            let loops = if row.parent.is_none() { ", in a loop" } else { "" };
            let _ = write!(text, "{:INDENT$}{about}{loops}", "");
        }
        text.push('\n');
        open.push(!row.is_last);
    }
    text
}

/// Broadcaster and rate on one line.
fn summary(frame: &FrameInfo) -> String {
    let how = match frame.rate() {
        Some(rate) => format!("{rate:.1} Hz"),
        None if frame.is_static => "static".to_owned(),
        None => "1 transform".to_owned(),
    };
    format!("{how}, {}", shown(&frame.authority))
}

/// What is known of a frame's transform, a line each.
fn lines(frame: &FrameInfo) -> Vec<String> {
    let mut lines = vec![format!("Broadcaster: {}", shown(&frame.authority))];
    if frame.is_static {
        lines.push("static".to_owned());
        return lines;
    }
    lines.extend(frame.rate().map(|rate| format!("Average rate: {rate:.3} Hz")));
    lines.extend(frame.span().map(|span| format!("Buffer length: {span:.3} s")));
    lines.extend(frame.latest.map(|time| format!("Most recent transform: {time}")));
    lines.extend(frame.oldest.map(|time| format!("Oldest transform: {time}")));
    lines
}

/// The tree for Graphviz.
pub fn dot(tree: &Tree) -> String {
    let mut dot = "digraph frames {\n".to_owned();
    for row in &tree.rows {
        let name = dot_text(&row.frame.name);
        let _ = match &row.frame.parent {
            None => writeln!(dot, "  \"{name}\";"),
            Some(parent) => {
                let label: Vec<_> = lines(&row.frame).iter().map(|line| dot_text(line)).collect();
                writeln!(dot, "  \"{}\" -> \"{name}\" [label=\"{}\"];", dot_text(parent), label.join("\\n"))
            }
        };
    }
    dot.push_str("}\n");
    dot
}

fn dot_text(text: &str) -> String {
    shown(text).replace('\\', "\\\\").replace('"', "\\\"")
}

/// The tree as a picture. Each box shows what is known of its transform when the pointer rests on it.
pub fn svg(tree: &Tree) -> String {
    let places = places(tree);
    let width = places.iter().map(|[x, _]| x + BOX[0]).max().unwrap_or_default() + GAP[0];
    let height = places.iter().map(|[_, y]| y + BOX[1]).max().unwrap_or_default() + GAP[0];
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"13\" text-anchor=\"middle\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (row, place) in tree.rows.iter().zip(&places) {
        if let Some(parent) = row.parent.and_then(|parent| places.get(parent)) {
            edge(&mut svg, *parent, *place, &row.frame);
        }
        frame_box(&mut svg, *place, &row.frame);
    }
    svg.push_str("</svg>\n");
    svg
}

/// The upper left corner of each row's box: below the parent, in the middle of its children.
fn places(tree: &Tree) -> Vec<[usize; 2]> {
    let steps = [BOX[0] + GAP[0], BOX[1] + GAP[1]];
    let mut ends: Vec<Option<[usize; 2]>> = vec![None; tree.rows.len()];
    let is_leaf = |index: usize| tree.rows.get(index + 1).is_none_or(|next| next.parent != Some(index));
    let leaves = ends.iter_mut().enumerate().filter(|(index, _)| is_leaf(*index));
    for (column, (_, end)) in leaves.enumerate() {
        *end = Some([GAP[0] + column * steps[0]; 2]);
    }
    // Children come after their parents, so backwards each is placed before its parent.
    for (index, row) in tree.rows.iter().enumerate().rev() {
        let Some([left, right]) = ends.get(index).copied().flatten() else { continue };
        let middle = left.midpoint(right);
        if let Some(parent) = row.parent.and_then(|parent| ends.get_mut(parent)) {
            let [from, to] = parent.unwrap_or([middle; 2]);
            *parent = Some([from.min(middle), to.max(middle)]);
        }
    }
    let place = |(row, ends): (&super::tree::Row, &Option<[usize; 2]>)| {
        let [left, right] = ends.unwrap_or_default();
        [left.midpoint(right), GAP[0] + row.depth * steps[1]]
    };
    tree.rows.iter().zip(&ends).map(place).collect()
}

fn edge(svg: &mut String, parent: [usize; 2], child: [usize; 2], frame: &FrameInfo) {
    let ([x1, y1], [x2, y2]) =
        ([parent[0] + BOX[0] / 2, parent[1] + BOX[1]], [child[0] + BOX[0] / 2, child[1]]);
    let _ = writeln!(svg, "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"#888\"/>");
    let y = y2 - 8;
    let about = xml_text(&summary(frame));
    // The edge would run through the letters.
    let style = "font-size=\"10\" fill=\"#555\" stroke=\"white\" stroke-width=\"4\" paint-order=\"stroke\"";
    let _ = writeln!(svg, "<text x=\"{x2}\" y=\"{y}\" {style}>{about}</text>");
}

fn frame_box(svg: &mut String, [x, y]: [usize; 2], frame: &FrameInfo) {
    let [width, height] = BOX;
    let (middle, baseline) = (x + width / 2, y + height / 2 + 5);
    let about = if frame.parent.is_some() { lines(frame).join("\n") } else { String::new() };
    let (name, about) = (xml_text(&shown(&frame.name)), xml_text(&about));
    let _ = writeln!(
        svg,
        "<g><title>{about}</title><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\" \
         fill=\"#eef3fa\" stroke=\"#4a6fa5\"/><text x=\"{middle}\" y=\"{baseline}\">{name}</text></g>"
    );
}

/// Text that was made printable, for XML.
fn xml_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use runnel::core::time::Time;

    use super::super::tree::tests::frame;
    use super::*;

    fn tree() -> Tree {
        let second = |sec| Some(Time { sec, nanosec: 0 });
        let moving = FrameInfo {
            is_static: false,
            transforms: 21,
            oldest: second(1),
            latest: second(3),
            ..frame("base", Some("map"))
        };
        let frames = ["left", "right", "<\"tip\">\n"].map(|name| frame(name, Some("base")));
        Tree::new(frames.into_iter().chain([moving, frame("map", None)]).collect())
    }

    #[test]
    fn text_shows_branches_rates_and_broadcasters() {
        let expected = "map\n\
                        └── base    10.0 Hz, /driver\n    \
                        ├── <\"tip\">\\n    static, /driver\n    \
                        ├── left    static, /driver\n    \
                        └── right    static, /driver\n";
        assert_eq!(text(&tree()), expected);
    }

    #[test]
    fn dot_quotes_names() {
        let dot = dot(&tree());
        assert!(
            dot.contains("\"map\" -> \"base\" [label=\"Broadcaster: /driver\\nAverage rate: 10.000 Hz"),
            "{dot}"
        );
        assert!(dot.contains("\"base\" -> \"<\\\"tip\\\">\\\\n\" [label="), "{dot}");
        assert!(dot.starts_with("digraph frames {\n") && dot.ends_with("}\n"));
    }

    #[test]
    fn svg_escapes_names_and_centres_parents() {
        let svg = svg(&tree());
        assert!(svg.contains(">&lt;\"tip\"&gt;\\n</text>"), "{svg}");
        assert!(!svg.contains("<\"tip"));
        let places = places(&tree());
        let [map, base, tip, left, right] = places[..] else { panic!("{places:?}") };
        assert_eq!((map[0], base[0], base[1] > map[1]), (left[0], left[0], true));
        assert!(tip[0] + BOX[0] < left[0] && left[0] + BOX[0] < right[0]);
        assert_eq!((tip[1], left[1]), (right[1], right[1]));
    }

    #[test]
    fn empty_tree_is_drawn() {
        let tree = Tree::new(Vec::new());
        assert_eq!((text(&tree), dot(&tree)), (String::new(), "digraph frames {\n}\n".to_owned()));
        assert!(svg(&tree).ends_with("</svg>\n"));
    }

    #[test]
    fn loop_is_marked() {
        let tree = Tree::new(vec![frame("a", Some("b")), frame("b", Some("a"))]);
        assert_eq!(text(&tree), "a    static, /driver, in a loop\n└── b    static, /driver\n");
    }
}
