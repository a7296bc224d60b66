//! Parameter files and types of parameters, for programs that set parameters of other nodes.

use super::parameter_value::ParameterValue;
use super::{Parameter, file_value, fitted};
use crate::settings::environment::FileParams;

impl Parameter {
    /// The parameters that the text of a parameter file gives the node of this full name. Its form is that of
    /// `--params-file`, and its values have the types that rcl gives them. With `wildcards` the sections are also used
    /// whose names are patterns, such as `/**`. Of two parameters with one name the last is used. Empty if the file has
    /// no section for the node.
    ///
    /// # Errors
    /// The line of the text that cannot be read, and why.
    pub fn from_file_text(text: &str, node: &str, wildcards: bool) -> Result<Vec<Self>, String> {
        let file = FileParams::of_text(text)?;
        let mut parameters: Vec<Self> = Vec::new();
        for (name, value) in file.of_node_in_text(node, wildcards) {
            parameters.retain(|known| known.name != name);
            parameters.push(Self::new(name, file_value(value)));
        }
        parameters.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(parameters)
    }
}

impl ParameterValue {
    /// The value for a parameter of a type, by its number in `rcl_interfaces/msg/ParameterType`: integers become
    /// doubles, and lists without a type of their own become arrays, where the type asks for it. Other values stay.
    #[must_use]
    pub fn fitted_to(self, type_number: u8) -> Self {
        fitted(self, type_number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_read_for_one_node() {
        let text = "/**:\n  ros__parameters:\n    a: 1\nrobot:\n  arm:\n    ros__parameters:\n      b:\n        c: [1, 2]\n      \
                    d: x\n/other:\n  ros__parameters: {}\n";
        let of = |node, wildcards| Parameter::from_file_text(text, node, wildcards).expect("a good text");
        let own = [Parameter::new("b.c", vec![1, 2]), Parameter::new("d", "x")];
        assert_eq!(of("/robot/arm", false), own);
        assert_eq!(of("/robot/arm", true), [&[Parameter::new("a", 1)], &own[..]].concat());
        assert_eq!((of("/other", false), of("/x", false)), (vec![], vec![]));
        let error = Parameter::from_file_text("a: 1", "/a", false).expect_err("it has no parameters");
        assert_eq!(error, "line 1: a is not below the name of a node and ros__parameters");
    }

    #[test]
    fn values_fit_the_declared_type() {
        assert_eq!(ParameterValue::from(5).fitted_to(3), 5.0.into());
        assert_eq!(ParameterValue::List(vec![]).fitted_to(9), ParameterValue::StringArray(vec![]));
        assert_eq!(ParameterValue::from(5).fitted_to(4), 5.into());
    }
}
