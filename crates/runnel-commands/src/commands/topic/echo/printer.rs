//! Text of messages in each form of output.

use runnel::RawMessage;
use runnel::core::dynamic::{DynamicError, DynamicMessage, ValueRef};
use runnel::core::schema::Generation;
use runnel::core::yaml::{self, EchoOptions};
use serde_json::Value as Json;

use super::Args;
use crate::cli_context::CliContext;
use crate::commands::topic::diagnostics::Diagnostics;
use crate::commands::topic::subject::Subject;
use crate::error::CliError;
use crate::output::{Output, json_text};
use crate::python_yaml::{self, PrintOptions};
use crate::received_types::ReceivedTypes;

/// The form of output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Yaml,
    FlowLists,
    Csv,
    Plot,
    Json,
}

/// Prints messages until there are enough.
pub struct Printer {
    output: Output,
    form: Form,
    options: EchoOptions,
    /// Paths of the fields to print; none for whole messages.
    fields: Vec<String>,
    topic: String,
    types: ReceivedTypes,
    diagnostics: Diagnostics,
    printed: u64,
    most: Option<u64>,
}

impl Printer {
    /// A printer as the arguments ask for it.
    ///
    /// # Errors
    /// When the arguments contradict each other.
    pub fn new(
        args: Args,
        subject: &Subject,
        types: ReceivedTypes,
        cli: &CliContext,
    ) -> Result<Self, CliError> {
        let form = match args {
            _ if cli.output.json => Form::Json,
            Args { csv: true, .. } => Form::Csv,
            Args { plot: true, .. } => Form::Plot,
            Args { flow_style: true, .. } => Form::FlowLists,
            _ => Form::Yaml,
        };
        let fields = if args.field.is_empty() { subject.field.iter().cloned().collect() } else { args.field };
        if form == Form::Plot && !fields.is_empty() {
            return Err(CliError::Usage("--plot prints whole messages, not fields".into()));
        }
        let truncate = (!args.full_length).then_some(args.truncate_length);
        Ok(Self {
            output: cli.output,
            form,
            options: EchoOptions {
                no_arr: args.no_arr,
                no_str: args.no_str,
                truncate,
                ..EchoOptions::default()
            },
            fields,
            topic: subject.topic.clone(),
            types,
            diagnostics: Diagnostics::default(),
            printed: 0,
            most: if args.once { Some(1) } else { args.count },
        })
    }

    pub fn has_enough(&self) -> bool {
        self.most.is_some_and(|most| self.printed >= most)
    }

    /// Prints a message. A message whose type is unknown, or that cannot be decoded or lacks a field, is skipped with
    /// a diagnostic.
    pub fn take(&mut self, message: &RawMessage<'_>) -> Result<(), CliError> {
        let Some(schema) = self.types.find(message, &self.topic)? else { return Ok(()) };
        let printed = message.decode(&schema).and_then(|decoded| self.text(&decoded, message.generation()));
        match printed {
            Ok(text) => {
                self.printed += 1;
                self.output.paragraph(&text)
            }
            Err(error) => {
                let line = self.diagnostics.line(message.type_name(), message.publisher(), &error)?;
                line.into_iter().for_each(|line| log::error!("{line}"));
                Ok(())
            }
        }
    }

    /// A message, or its fields, in the form of the tools of its generation.
    fn text(&self, message: &DynamicMessage, generation: Generation) -> Result<String, DynamicError> {
        if self.form == Form::Plot {
            return Ok(self.plot(message));
        }
        let options = &EchoOptions { generation, ..self.options };
        let of_value = |value: ValueRef<'_>| value_text(self.form, value, options);
        let texts = match self.fields.as_slice() {
            [] => vec![of_value(ValueRef::Message(message))],
            fields => fields.iter().map(|path| at(message, path, of_value)).collect::<Result<_, _>>()?,
        };
        Ok(joined(self.form, &self.fields, &texts))
    }

    fn plot(&self, message: &DynamicMessage) -> String {
        let stamp = match message.get("header.stamp") {
            Ok(ValueRef::Time(stamp)) => stamp,
            _ => runnel_io::clock::realtime(),
        };
        let value = ValueRef::Message(message);
        let row = yaml::plot_row(value, stamp, &self.options);
        if self.printed == 0 { format!("{}\n{row}", yaml::plot_header(value, &self.options)) } else { row }
    }
}

/// The part of a message at a path, which may have a slice, such as `ranges[0:3]` or `poses[1:].position.x`, as in
/// rostopic.
fn at<T>(message: &DynamicMessage, path: &str, read: impl Fn(ValueRef<'_>) -> T) -> Result<T, DynamicError> {
    match path.contains(':') {
        true => Ok(read(message.select(&path.replace('.', "/"))?.view())),
        false => Ok(read(message.get(path)?)),
    }
}

/// A value, without the line that ends a message.
fn value_text(form: Form, value: ValueRef<'_>, options: &EchoOptions) -> String {
    match form {
        Form::Csv => yaml::value_to_csv(value, options),
        Form::Json => json_text(&yaml::value_to_json(options.generation, value)),
        Form::FlowLists => flow_lists(value, options),
        Form::Yaml | Form::Plot => yaml::value_to_yaml(value, options) + "\n",
    }
}

/// The texts of one message: of the fields at these paths, or of the whole message. Several fields are members of an
/// object in JSON, and follow one another otherwise.
fn joined(form: Form, paths: &[String], texts: &[String]) -> String {
    match (form, texts) {
        (Form::Csv, _) => texts.join(","),
        (Form::Json, [one]) => one.clone(),
        (Form::Json, _) => {
            let member = |(path, text)| format!("{}:{text}", json_text(&Json::String(String::clone(path))));
            let members: Vec<String> = paths.iter().zip(texts).map(member).collect();
            format!("{{{}}}", members.join(","))
        }
        (Form::Yaml | Form::FlowLists | Form::Plot, _) => texts.concat() + "---",
    }
}

/// A value as ros2 prints it, with lists on one line.
fn flow_lists(value: ValueRef<'_>, options: &EchoOptions) -> String {
    let EchoOptions { generation, truncate, no_arr, no_str, .. } = *options;
    let printed = python_yaml::value_tree(value, PrintOptions { generation, truncate, no_arr, no_str });
    printed.block_with_flow_lists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_fields_make_one_record_in_each_form() {
        let paths = ["a".to_owned(), "b[\"".to_owned()];
        let texts = |texts: [&str; 2]| texts.map(str::to_owned);
        assert_eq!(joined(Form::Csv, &paths, &texts(["1", "2,3"])), "1,2,3");
        assert_eq!(joined(Form::Json, &paths, &texts(["1", "[2]"])), r#"{"a":1,"b[\"":[2]}"#);
        assert_eq!(joined(Form::Yaml, &paths, &texts(["1\n", "2\n"])), "1\n2\n---");
        assert_eq!(joined(Form::Json, &paths[..1], &["1".to_owned()]), "1");
        assert_eq!(joined(Form::FlowLists, &[], &["a: 1\n".to_owned()]), "a: 1\n---");
    }
}
