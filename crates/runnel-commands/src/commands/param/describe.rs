//! `runnel param describe`

use runnel::msgs::rcl_interfaces::msg::ParameterDescriptor;
use serde_json::{Value as Json, json};

use super::query::{Query, missing_text, node_not_found};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;

/// Show description, type and range of parameters of a ROS 2 node
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node
    #[arg(add = completion::nodes())]
    node: String,

    /// Its parameters
    #[arg(required = true, value_name = "NAME", add = completion::parameters_of_node())]
    names: Vec<String>,

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let name = cli.resolve(&args.node)?;
    let Some(node) = args.query.ros2_node(cli, &name)? else {
        let graph = args.query.known_graph(cli);
        if args.query.filter.is_only_ros2() {
            return Err(node_not_found(cli, &name, &graph));
        }
        let missing = missing_text(&name, &graph);
        return Err(CliError::Failed(format!("{missing}; only ROS 2 nodes describe parameters")));
    };
    let names: Vec<&str> = args.names.iter().map(String::as_str).collect();
    let descriptors = node.client.describe_parameters(&names)?;
    cli.output.answer(
        || descriptors.iter().map(text).collect::<String>(),
        || descriptors.iter().map(to_json).collect::<Json>(),
    )
}

/// The descriptor as `ros2 param describe` prints it.
fn text(descriptor: &ParameterDescriptor) -> String {
    let mut text = format!(
        "Parameter name: {}\n  Type: {}\n",
        descriptor.name,
        runnel::parameter_type_name(descriptor.type_)
    );
    if !descriptor.description.is_empty() {
        text += &format!("  Description: {}\n", descriptor.description);
    }
    text += "  Constraints:\n";
    if descriptor.read_only {
        text += "    Read only: true\n";
    }
    if let Some(range) = descriptor.floating_point_range.first() {
        text += &format!("    Min value: {:?}\n    Max value: {:?}\n", range.from_value, range.to_value);
        text += &if range.step == 0.0 { String::new() } else { format!("    Step: {:?}\n", range.step) };
    } else if let Some(range) = descriptor.integer_range.first() {
        text += &format!("    Min value: {}\n    Max value: {}\n", range.from_value, range.to_value);
        text += &if range.step == 0 { String::new() } else { format!("    Step: {}\n", range.step) };
    }
    if !descriptor.additional_constraints.is_empty() {
        text += &format!("    Additional constraints: {}\n", descriptor.additional_constraints);
    }
    text
}

fn to_json(descriptor: &ParameterDescriptor) -> Json {
    let floats = descriptor
        .floating_point_range
        .first()
        .map(|range| json!({ "from": range.from_value, "to": range.to_value, "step": range.step }));
    let integers = descriptor
        .integer_range
        .first()
        .map(|range| json!({ "from": range.from_value, "to": range.to_value, "step": range.step }));
    json!({
        "name": descriptor.name,
        "type": runnel::parameter_type_name(descriptor.type_),
        "description": descriptor.description,
        "additional_constraints": descriptor.additional_constraints,
        "read_only": descriptor.read_only,
        "dynamic_typing": descriptor.dynamic_typing,
        "range": floats.or(integers),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel::msgs::rcl_interfaces::msg::{FloatingPointRange, IntegerRange};

    #[test]
    fn descriptor_is_printed_as_by_ros2_param() {
        let range = FloatingPointRange { from_value: 1.0, to_value: 100.0, step: 0.5 };
        let rate = ParameterDescriptor {
            name: "rate".into(),
            type_: 3,
            description: "Hz".into(),
            read_only: true,
            floating_point_range: vec![range],
            ..ParameterDescriptor::default()
        };
        let expected = "Parameter name: rate\n  Type: double\n  Description: Hz\n  Constraints:\n    Read only: true\n    \
                        Min value: 1.0\n    Max value: 100.0\n    Step: 0.5\n";
        assert_eq!(text(&rate), expected);
        let range = IntegerRange { from_value: 1, to_value: 9, step: 0 };
        let count = ParameterDescriptor {
            name: "count".into(),
            type_: 2,
            integer_range: vec![range],
            additional_constraints: "even".into(),
            ..ParameterDescriptor::default()
        };
        let expected = "Parameter name: count\n  Type: integer\n  Constraints:\n    Min value: 1\n    Max value: 9\n    \
                        Additional constraints: even\n";
        assert_eq!(text(&count), expected);
    }
}
