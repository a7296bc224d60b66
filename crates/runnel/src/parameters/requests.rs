//! The six parameter services, as functions from request to response.

use runnel_msgs::rcl_interfaces::msg::SetParametersResult;
use runnel_msgs::rcl_interfaces::srv::{
    DescribeParametersRequest, DescribeParametersResponse, GetParameterTypesRequest,
    GetParameterTypesResponse, GetParametersRequest, GetParametersResponse, ListParametersRequest,
    ListParametersResponse, SetParametersAtomicallyRequest, SetParametersAtomicallyResponse,
    SetParametersRequest, SetParametersResponse,
};

use super::message::to_message;
use super::{NodeParameters, Parameter};
use crate::error::ParameterError;

/// Answers for all names or, if one of them has none, for none of them.
fn all_or_none<T>(names: &[String], answer: impl Fn(&str) -> Result<T, ParameterError>) -> Vec<T> {
    names.iter().map(|name| answer(name)).collect::<Result<_, _>>().unwrap_or_default()
}

/// The values of parameters. One that is not declared, or has no value, empties the response.
pub(crate) fn get_parameters(
    parameters: &NodeParameters,
    request: &GetParametersRequest,
) -> GetParametersResponse {
    let value = |name: &str| Ok(to_message(parameters.get(name)?.as_ref()));
    GetParametersResponse { values: all_or_none(&request.names, value) }
}

/// The types of parameters. One that is not declared empties the response.
pub(crate) fn get_parameter_types(
    parameters: &NodeParameters,
    request: &GetParameterTypesRequest,
) -> GetParameterTypesResponse {
    GetParameterTypesResponse { types: all_or_none(&request.names, |name| parameters.type_of(name)) }
}

/// The descriptors of parameters. One that is not declared empties the response.
pub(crate) fn describe_parameters(
    parameters: &NodeParameters,
    request: &DescribeParametersRequest,
) -> DescribeParametersResponse {
    DescribeParametersResponse { descriptors: all_or_none(&request.names, |name| parameters.describe(name)) }
}

/// The names of parameters.
pub(crate) fn list_parameters(
    parameters: &NodeParameters,
    request: &ListParametersRequest,
) -> ListParametersResponse {
    ListParametersResponse { result: parameters.list(&request.prefixes, request.depth) }
}

/// Sets each parameter on its own.
pub(crate) fn set_parameters(
    parameters: &NodeParameters,
    request: &SetParametersRequest,
) -> SetParametersResponse {
    let set = |message| {
        let set = |parameter| parameters.set(parameter).map_err(|error| error.to_string());
        result(Parameter::from_message(message).and_then(set))
    };
    SetParametersResponse { results: request.parameters.iter().map(set).collect() }
}

/// Sets all parameters, or none.
pub(crate) fn set_parameters_atomically(
    parameters: &NodeParameters,
    request: &SetParametersAtomicallyRequest,
) -> SetParametersAtomicallyResponse {
    let group: Result<Vec<_>, _> = request.parameters.iter().map(Parameter::from_message).collect();
    let set = |group| parameters.set_atomically(group).map_err(|error| error.to_string());
    SetParametersAtomicallyResponse { result: result(group.and_then(set)) }
}

fn result(set: Result<(), String>) -> SetParametersResult {
    SetParametersResult { successful: set.is_ok(), reason: set.err().unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use runnel_msgs::rcl_interfaces::msg;

    use super::*;
    use crate::parameters::Overrides;

    fn parameters() -> Arc<NodeParameters> {
        let parameters = NodeParameters::new(Overrides::default(), false);
        let descriptor = |name: &str, type_| msg::ParameterDescriptor {
            name: name.into(),
            type_,
            ..msg::ParameterDescriptor::default()
        };
        parameters.declare(descriptor("rate", 3), Some(1.0.into()), false, None).unwrap();
        parameters.declare(descriptor("limits.low", 2), Some(5.into()), false, None).unwrap();
        parameters.declare(descriptor("unset", 4), None, false, None).unwrap();
        parameters
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn message(name: &str, value: impl Into<crate::ParameterValue>) -> msg::Parameter {
        Parameter::new(name, value).to_message()
    }

    #[test]
    fn unknown_name_empties_response() {
        let parameters = parameters();
        let get = |of: &[&str]| {
            let values = get_parameters(&parameters, &GetParametersRequest { names: names(of) }).values;
            values.iter().map(|value| value.type_).collect::<Vec<_>>()
        };
        assert_eq!(get(&["rate", "limits.low"]), [3, 2]);
        assert!(get(&["rate", "nope"]).is_empty());
        assert!(get(&["rate", "unset"]).is_empty(), "a parameter without a value is like an unknown one");
        let types = |of: &[&str]| {
            get_parameter_types(&parameters, &GetParameterTypesRequest { names: names(of) }).types
        };
        assert_eq!(types(&["unset", "rate"]), [0, 3]);
        assert!(types(&["rate", "nope"]).is_empty());
        let describe = |of: &[&str]| {
            let request = DescribeParametersRequest { names: names(of) };
            describe_parameters(&parameters, &request).descriptors.len()
        };
        assert_eq!((describe(&["rate", "unset"]), describe(&["rate", "nope"])), (2, 0));
    }

    #[test]
    fn undeclared_names_are_answered_if_allowed() {
        let parameters = parameters();
        parameters.allow_undeclared(true);
        let request = GetParametersRequest { names: names(&["rate", "nope"]) };
        let values = get_parameters(&parameters, &request).values;
        assert_eq!(values.iter().map(|value| value.type_).collect::<Vec<_>>(), [3, 0]);
        let set = SetParametersRequest { parameters: vec![message("nope", 1)] };
        assert!(set_parameters(&parameters, &set).results[0].successful);
    }

    #[test]
    fn list_gives_names_and_prefixes() {
        let request = ListParametersRequest { prefixes: vec![], depth: 0 };
        let result = list_parameters(&parameters(), &request).result;
        assert_eq!(
            (result.names, result.prefixes),
            (names(&["limits.low", "rate", "unset"]), names(&["limits"]))
        );
    }

    #[test]
    fn each_parameter_is_set_on_its_own() {
        let parameters = parameters();
        let odd = msg::Parameter {
            name: "rate".into(),
            value: msg::ParameterValue { type_: 77, ..msg::ParameterValue::default() },
        };
        let request = SetParametersRequest {
            parameters: vec![message("rate", 2.0), message("limits.low", "x"), message("nope", 1), odd],
        };
        let results = set_parameters(&parameters, &request).results;
        let reasons: Vec<_> = results.iter().map(|result| (result.successful, &*result.reason)).collect();
        let expected = [
            (true, ""),
            (false, "parameter limits.low is of type integer, and the value is the string \"x\""),
            (false, "parameter nope is not declared"),
            (false, "parameter rate: there is no type with the number 77"),
        ];
        assert_eq!(reasons, expected);
        assert_eq!(parameters.get("rate"), Ok(Some(2.0.into())));
    }

    #[test]
    fn group_is_set_as_a_whole() {
        let parameters = parameters();
        let set = |group: Vec<msg::Parameter>| {
            set_parameters_atomically(&parameters, &SetParametersAtomicallyRequest { parameters: group })
                .result
        };
        assert!(!set(vec![message("rate", 2.0), message("limits.low", 2.0)]).successful);
        assert_eq!(parameters.get("rate"), Ok(Some(1.0.into())));
        assert!(set(vec![message("rate", 2.0), message("limits.low", 2)]).successful);
        assert_eq!(parameters.get("rate"), Ok(Some(2.0.into())));
        assert!(!set(vec![]).successful);
    }
}
