//! Debian's rviz shows the robot of the demonstration, without a change to either. Its screen is the memory of Xvfb.

use std::fs;
use std::path::Path;

use interop::{Master, Server, TIMEOUT, wait_until};
use runnel_testkit::process::deadline_in;

/// Displays of transforms and of the last 100 positions, as red arrows.
const CONFIG: &str = include_str!("../../peers/rviz/robot.rviz");

/// Red pixels of the arrows on a screen of 900 x 700 that shows at least a part of the path.
const PATH: usize = 2000;

/// Red pixels of a screen, which Xvfb keeps in the form of xwd.
fn red_pixels(screen: &Path) -> usize {
    let image = fs::read(screen).unwrap_or_default();
    let number = |index: usize| {
        let bytes = image.get(index * 4..index * 4 + 4).map_or([0; 4], |bytes| bytes.try_into().unwrap());
        u32::from_be_bytes(bytes) as usize
    };
    let (header, colours) = (number(0), number(19));
    let pixels = image.get(header + colours * 12..).unwrap_or_default().chunks_exact(4);
    pixels.filter(|pixel| pixel[2] > 150 && pixel[1] < 90 && pixel[0] < 90).count()
}

#[test]
fn rviz_shows_robot_of_demonstration() {
    let master = Master::start(Server::Runnel);
    let graph = master.graph();
    let folder = graph.home().display().to_string();
    fs::write(graph.home().join("robot.rviz"), CONFIG).unwrap();
    let screen = ["-displayfd", "1", "-screen", "0", "900x700x24", "-nolisten", "tcp", "-fbdir", &folder];
    let mut server = graph.tool("Xvfb", &screen);
    let is_number = |line: &str| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    let display = server.wait_for_line(is_number, deadline_in(TIMEOUT)).expect("a display");
    let _robot = graph.runnel("line_trace", &["control", "--simulate"]);
    let _tracer = graph.runnel("line_trace", &["tracer"]);
    let display = format!("DISPLAY=:{display}");
    let config = graph.home().join("robot.rviz").display().to_string();
    let words = [&display, "LIBGL_ALWAYS_SOFTWARE=1", "QT_X11_NO_MITSHM=1", "rviz", "-d", &config];
    let _rviz = graph.tool("env", &words);
    let screen = graph.home().join("Xvfb_screen0");
    wait_until("the path of the robot is on the screen", deadline_in(3 * TIMEOUT), || {
        red_pixels(&screen) > PATH
    });
}
