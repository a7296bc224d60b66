//! `runnel tf view_frames`

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use runnel::tf::FrameInfo;
use serde_json::{Value as Json, json};

use super::drawing;
use super::received::{ListenArgs, ReceivedTransforms};
use super::tree::Tree;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::value_parsers;

/// The name of the files unless another is given.
const NAME: &str = "frames";

/// Most files of that name.
const MAX_FILES: usize = 1000;

/// Listen to transforms, and draw the tree of frames (view_frames)
///
/// Prints the tree, and writes it as frames.svg and, for Graphviz, as frames.gv; or frames-2.svg and so on if these
/// exist.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Listen for this long
    #[arg(long, alias = "wait-time", value_name = "SECONDS", default_value = "5", value_parser = value_parsers::seconds)]
    time: Duration,

    /// Write NAME.svg and NAME.gv, which must not exist
    #[arg(short, long, value_name = "NAME", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Write no files
    #[arg(long, conflicts_with = "output")]
    text: bool,

    #[command(flatten)]
    listen: ListenArgs,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let received = ReceivedTransforms::listen(cli, &args.listen, "tf_view_frames")?;
    let seconds = args.time.as_secs_f64();
    cli.output.note(&format!("listening to /tf and /tf_static for {seconds} s"));
    received.context.sleep_wall(args.time)?;
    let frames = received.buffer.frames();
    if frames.is_empty() {
        return Err(CliError::Failed(format!(
            "no transforms on /tf and /tf_static within {seconds} s. Try: runnel topic info /tf"
        )));
    }
    let tree = Tree::new(frames);
    let files = if args.text { Vec::new() } else { write(&tree, args.output.as_deref())? };
    let written: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    cli.output.answer(|| drawing::text(&tree), || to_json(&tree, &written))?;
    if !written.is_empty() {
        cli.output.note(&format!("wrote {}", written.join(" and ")));
    }
    Ok(())
}

/// Writes both pictures into new files.
fn write(tree: &Tree, name: Option<&Path>) -> Result<Vec<PathBuf>, CliError> {
    let name = match name {
        Some(name) => name.to_owned(),
        None => {
            free_name().ok_or_else(|| CliError::Failed(format!("{NAME}.svg: too many such files exist")))?
        }
    };
    let pictures = [("svg", drawing::svg(tree)), ("gv", drawing::dot(tree))];
    let files = pictures.iter().map(|(ending, picture)| {
        let mut file = name.clone().into_os_string();
        file.push(".");
        file.push(ending);
        let file = PathBuf::from(file);
        write_new(&file, picture).map_err(|error| failed(&file, &error))?;
        Ok(file)
    });
    files.collect()
}

fn write_new(file: &Path, text: &str) -> io::Result<()> {
    File::create_new(file)?.write_all(text.as_bytes())
}

fn failed(file: &Path, error: &io::Error) -> CliError {
    let file = file.display();
    CliError::Failed(match error.kind() {
        io::ErrorKind::AlreadyExists => format!(
            "{file}: the file exists, and view_frames never replaces a file. Try: another name, or remove it first"
        ),
        _ => format!("{file}: {error}"),
    })
}

/// The first name of which no file exists in the current folder.
fn free_name() -> Option<PathBuf> {
    let is_free =
        |name: &String| ["svg", "gv"].iter().all(|ending| !Path::new(&format!("{name}.{ending}")).exists());
    let mut names = (1..=MAX_FILES).map(|number| match number {
        1 => NAME.to_owned(),
        number => format!("{NAME}-{number}"),
    });
    names.find(is_free).map(PathBuf::from)
}

fn to_json(tree: &Tree, files: &[String]) -> Json {
    let frames: Vec<_> = tree.rows.iter().map(|row| frame_to_json(&row.frame)).collect();
    json!({ "frames": frames, "files": files })
}

fn frame_to_json(frame: &FrameInfo) -> Json {
    let time = |time: runnel::Time| json!({ "secs": time.sec, "nsecs": time.nanosec });
    json!({
        "frame": frame.name,
        "parent": frame.parent,
        "broadcaster": frame.authority,
        "static": frame.is_static,
        "transforms": frame.transforms,
        "rate": frame.rate(),
        "oldest": frame.oldest.map(time),
        "latest": frame.latest.map(time),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::frame;
    use super::*;

    #[test]
    fn existing_file_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("robot.v1");
        let tree = Tree::new(vec![frame("base", Some("map")), frame("map", None)]);
        let files = write(&tree, Some(&name)).unwrap();
        assert_eq!(files, [folder.path().join("robot.v1.svg"), folder.path().join("robot.v1.gv")]);
        assert!(std::fs::read_to_string(&files[0]).unwrap().starts_with("<svg"));
        let error = write(&tree, Some(&name)).unwrap_err().to_string();
        assert!(error.contains("robot.v1.svg: the file exists, and view_frames never replaces"), "{error}");
    }

    #[test]
    fn json_has_each_frame() {
        let tree = Tree::new(vec![frame("base", Some("map")), frame("map", None)]);
        let json = to_json(&tree, &["frames.svg".to_owned()]);
        assert_eq!(json["frames"][1]["frame"], "base");
        assert_eq!(
            (&json["frames"][1]["parent"], &json["frames"][0]["parent"]),
            (&json!("map"), &Json::Null)
        );
        assert_eq!(json["files"], json!(["frames.svg"]));
    }
}
