//! The page of a drive in a browser: light and dark, with every figure and without console errors.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use interop::{Master, Server, outcome};

/// Names of the browser.
const BROWSERS: [&str; 4] = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/// Window size in pixels: the whole page.
const WINDOW: (u32, u32) = (820, 3600);

/// `None` without a browser; `./test` has announced that and counts it as skipped.
fn browser() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let places =
        BROWSERS.iter().flat_map(|name| folders.iter().flatten().map(move |folder| folder.join(name)));
    let found = places.into_iter().find(|place| place.is_file());
    assert!(
        found.is_some() || std::env::var_os("RUNNEL_TEST_NO_BROWSER").is_some(),
        "no browser: run ./test"
    );
    found
}

/// Console messages of the browser itself.
const OF_ITSELF: [&str; 1] = ["Slow network is detected"];

/// Console messages of the page, including errors of its scripts and styles.
fn console_errors(stderr: &str) -> impl Iterator<Item = &str> {
    let of_browser = |line: &str| OF_ITSELF.iter().any(|words| line.contains(words));
    stderr.lines().filter(|line| line.contains("CONSOLE")).filter(move |line| !of_browser(line))
}

#[test]
fn browser_warnings_are_not_page_errors() {
    let stderr = "[1:1:INFO:CONSOLE(0)] \"[Intervention] Slow network is detected. See \
                https://www.chromestatus.com/feature/5636954674692096 for more details. Fallback font will be used \
                while loading: \", source: file:///page.html (0)\n\
                [1:1:INFO:CONSOLE(7)] \"Uncaught ReferenceError: x is not defined\", source: file:///page.html (7)\n";
    assert_eq!(console_errors(stderr).collect::<Vec<_>>(), [stderr.lines().nth(1).unwrap()]);
}

/// Opens the page with these arguments.
fn show(browser: &Path, home: &Path, page: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(browser);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        "--hide-scrollbars",
    ]);
    command.arg(format!("--window-size={},{}", WINDOW.0, WINDOW.1)).args(arguments);
    command.arg(format!("--user-data-dir={}", home.join("browser").display()));
    command.arg(format!("file://{}", page.display())).env("HOME", home);
    let output = command.output().expect("the browser starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && console_errors(&stderr).next().is_none(), "{stderr}");
    output
}

/// Pixel rows with the path and no other colour.
const PATH_ROWS: usize = 800;

/// The colour of the first pixel, and the numbers of coloured pixels in the path's rows and in the rest.
fn picture(file: &Path) -> ([u8; 3], [usize; 2]) {
    let mut decoder = png::Decoder::new(BufReader::new(File::open(file).expect("the picture")));
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().expect("the picture's head");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut pixels).expect("the picture's pixels");
    assert_eq!((info.width, info.height), WINDOW);
    let bytes = info.color_type.samples();
    let pixels = pixels.chunks(bytes).map(|pixel| [pixel[0], pixel[1], pixel[2]]);
    let range =
        |pixel: &[u8; 3]| pixel.iter().max().zip(pixel.iter().min()).map_or(0, |(most, least)| most - least);
    let first = pixels.clone().next().expect("a pixel");
    let path = WINDOW.0 as usize * PATH_ROWS;
    let coloured =
        |pixels: &mut dyn Iterator<Item = [u8; 3]>| pixels.filter(|pixel| range(pixel) > 60).count();
    (first, [coloured(&mut pixels.clone().take(path)), coloured(&mut pixels.skip(path))])
}

#[test]
fn drive_page_renders_in_light_and_dark() {
    let Some(browser) = browser() else { return };
    let master = Master::start(Server::Runnel);
    let (graph, home) = (master.graph(), master.graph().home());
    let drive = outcome(graph.runnel("runnel", &["demo", "--json"]));
    assert_eq!(drive.code, Some(0), "{:#?}", drive.lines);
    let page = home.join("line_trace.html");
    let document = show(&browser, home, &page, &["--dump-dom"]).stdout;
    let document = String::from_utf8(document).expect("a document in UTF-8");
    for figure in ["path", "speed", "deviation", "latency", "light_sensors", "cmd_vel"] {
        let (_, from) =
            document.split_once(&format!("<figure id=\"{figure}\">")).unwrap_or_else(|| panic!("{figure}"));
        let (drawn, _) = from.split_once("</figure>").expect("the end of the figure");
        assert!(drawn.contains("<svg") && drawn.contains("<figcaption>"), "{figure}: {drawn}");
    }
    for (scheme, paper) in [("1", [255, 255, 255]), ("0", [0x16, 0x18, 0x1c])] {
        let picture_of = home.join(format!("page-{scheme}.png"));
        let screenshot = format!("--screenshot={}", picture_of.display());
        let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
        show(&browser, home, &page, &[&screenshot, &scheme]);
        let (first, coloured) = picture(&picture_of);
        assert_eq!(first, paper, "{scheme}");
        let [path, charts] = coloured;
        assert!(path > 3000 && charts > 10_000, "{scheme}: {coloured:?} coloured pixels");
    }
}
