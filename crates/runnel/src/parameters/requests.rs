//! The six parameter services, as functions from request to response.

use runnel_msgs::rcl_interfaces::msg::SetParametersResult;
use runnel_msgs::rcl_interfaces::srv::{
    DescribeParametersRequest, DescribeParametersResponse, GetParameterTypesRequest,
    GetParameterTypesResponse, GetParametersRequest, GetParametersResponse, ListParametersRequest,
    ListParametersResponse, SetParametersAtomicallyRequest, SetParametersAtomicallyResponse,
    SetParametersRequest, SetParametersResponse,
};

use super::limits::{AnswerSize, MOST_PREFIXES, OverLimit, check_names, shortened, size_of_descriptor};
use super::message::to_message;
use super::{NodeParameters, Parameter};
use crate::error::ParameterError;
use crate::parameters::parameter_value::ParameterValue;

/// An answer, and why it is not the whole one.
pub(crate) struct Answer<R> {
    pub(crate) response: R,
    pub(crate) over_limit: Option<OverLimit>,
}

impl<R: Default> Answer<R> {
    /// A whole answer or, over a limit, an empty one.
    fn or_empty(answer: Result<R, OverLimit>) -> Self {
        match answer {
            Ok(response) => Self { response, over_limit: None },
            Err(over) => Self { response: R::default(), over_limit: Some(over) },
        }
    }
}

/// Answers for all names or, if one of them has none, for none of them. `size` is that of an element in bytes.
///
/// # Errors
/// If the request or the answer is over a limit.
fn all_or_none<T>(
    names: &[String],
    answer: impl Fn(&str) -> Result<T, ParameterError>,
    size: impl Fn(&T) -> usize,
) -> Result<Vec<T>, OverLimit> {
    check_names(names.len())?;
    let (mut answers, mut total) = (Vec::new(), AnswerSize::default());
    for name in names {
        let Ok(element) = answer(name) else { return Ok(Vec::new()) };
        total.add(size(&element))?;
        answers.push(element);
    }
    Ok(answers)
}

/// The values of parameters. One that is not declared, or has no value, empties the response.
pub(crate) fn get_parameters(
    parameters: &NodeParameters,
    request: &GetParametersRequest,
) -> Answer<GetParametersResponse> {
    let size = |value: &Option<ParameterValue>| value.as_ref().map_or(0, ParameterValue::memory);
    let values = all_or_none(&request.names, |name| parameters.get(name), size);
    let message = |value: &Option<ParameterValue>| to_message(value.as_ref());
    let response = |values: Vec<_>| GetParametersResponse { values: values.iter().map(message).collect() };
    Answer::or_empty(values.map(response))
}

/// The types of parameters. One that is not declared empties the response.
pub(crate) fn get_parameter_types(
    parameters: &NodeParameters,
    request: &GetParameterTypesRequest,
) -> Answer<GetParameterTypesResponse> {
    let types = all_or_none(&request.names, |name| parameters.type_of(name), |_| 1);
    Answer::or_empty(types.map(|types| GetParameterTypesResponse { types }))
}

/// The descriptors of parameters. One that is not declared empties the response.
pub(crate) fn describe_parameters(
    parameters: &NodeParameters,
    request: &DescribeParametersRequest,
) -> Answer<DescribeParametersResponse> {
    let descriptors = all_or_none(&request.names, |name| parameters.describe(name), size_of_descriptor);
    Answer::or_empty(descriptors.map(|descriptors| DescribeParametersResponse { descriptors }))
}

/// The names of parameters.
pub(crate) fn list_parameters(
    parameters: &NodeParameters,
    request: &ListParametersRequest,
) -> Answer<ListParametersResponse> {
    let list = || {
        let (count, limit) = (request.prefixes.len(), MOST_PREFIXES);
        if count > limit {
            return Err(OverLimit::Prefixes { count, limit });
        }
        let result = parameters.list(&request.prefixes, request.depth);
        let mut total = AnswerSize::default();
        result.names.iter().chain(&result.prefixes).try_for_each(|name| total.add(name.len()))?;
        Ok(ListParametersResponse { result })
    };
    Answer::or_empty(list())
}

/// Sets each parameter on its own. A request over the limit sets none: its answer is one result with the reason.
pub(crate) fn set_parameters(
    parameters: &NodeParameters,
    request: &SetParametersRequest,
) -> Answer<SetParametersResponse> {
    let set = |message| {
        let set = |parameter| parameters.set(parameter).map_err(|error| error.to_string());
        result(Parameter::from_message(message).and_then(set))
    };
    let over_limit = check_names(request.parameters.len()).err();
    let results = match over_limit {
        None => request.parameters.iter().map(set).collect(),
        Some(over) => vec![result(Err(over.to_string()))],
    };
    Answer { response: SetParametersResponse { results }, over_limit }
}

/// Sets all parameters, or none.
pub(crate) fn set_parameters_atomically(
    parameters: &NodeParameters,
    request: &SetParametersAtomicallyRequest,
) -> Answer<SetParametersAtomicallyResponse> {
    let set = |group| parameters.set_atomically(group).map_err(|error| error.to_string());
    let over_limit = check_names(request.parameters.len()).err();
    let set = match over_limit {
        None => {
            request.parameters.iter().map(Parameter::from_message).collect::<Result<_, _>>().and_then(set)
        }
        Some(over) => Err(over.to_string()),
    };
    Answer { response: SetParametersAtomicallyResponse { result: result(set) }, over_limit }
}

fn result(set: Result<(), String>) -> SetParametersResult {
    SetParametersResult { successful: set.is_ok(), reason: set.err().map(shortened).unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use runnel_msgs::rcl_interfaces::msg;

    use super::*;
    use crate::parameters::Overrides;
    use crate::parameters::limits::{LONGEST_REASON, MOST_BYTES, MOST_NAMES};

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

    fn message(name: &str, value: impl Into<ParameterValue>) -> msg::Parameter {
        Parameter::new(name, value).to_message()
    }

    #[test]
    fn unknown_name_empties_response() {
        let parameters = parameters();
        let get = |of: &[&str]| {
            let values =
                get_parameters(&parameters, &GetParametersRequest { names: names(of) }).response.values;
            values.iter().map(|value| value.type_).collect::<Vec<_>>()
        };
        assert_eq!(get(&["rate", "limits.low"]), [3, 2]);
        assert!(get(&["rate", "nope"]).is_empty());
        assert!(get(&["rate", "unset"]).is_empty(), "a parameter without a value is like an unknown one");
        let types = |of: &[&str]| {
            get_parameter_types(&parameters, &GetParameterTypesRequest { names: names(of) }).response.types
        };
        assert_eq!(types(&["unset", "rate"]), [0, 3]);
        assert!(types(&["rate", "nope"]).is_empty());
        let describe = |of: &[&str]| {
            let request = DescribeParametersRequest { names: names(of) };
            describe_parameters(&parameters, &request).response.descriptors.len()
        };
        assert_eq!((describe(&["rate", "unset"]), describe(&["rate", "nope"])), (2, 0));
    }

    #[test]
    fn undeclared_names_are_answered_if_allowed() {
        let parameters = parameters();
        parameters.allow_undeclared(true);
        let request = GetParametersRequest { names: names(&["rate", "nope"]) };
        let values = get_parameters(&parameters, &request).response.values;
        assert_eq!(values.iter().map(|value| value.type_).collect::<Vec<_>>(), [3, 0]);
        let set = SetParametersRequest { parameters: vec![message("nope", 1)] };
        assert!(set_parameters(&parameters, &set).response.results[0].successful);
    }

    #[test]
    fn list_gives_names_and_prefixes() {
        let request = ListParametersRequest { prefixes: vec![], depth: 0 };
        let result = list_parameters(&parameters(), &request).response.result;
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
        let results = set_parameters(&parameters, &request).response.results;
        let reasons: Vec<_> = results.iter().map(|result| (result.successful, &*result.reason)).collect();
        let expected = [
            (true, ""),
            (false, "parameter limits.low is of type integer, setting it to the string \"x\" is not allowed"),
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
                .response
                .result
        };
        assert!(!set(vec![message("rate", 2.0), message("limits.low", 2.0)]).successful);
        assert_eq!(parameters.get("rate"), Ok(Some(1.0.into())));
        assert!(set(vec![message("rate", 2.0), message("limits.low", 2)]).successful);
        assert_eq!(parameters.get("rate"), Ok(Some(2.0.into())));
        assert!(!set(vec![]).successful);
    }

    #[test]
    fn request_with_too_many_names_gets_empty_answer() {
        let parameters = parameters();
        let many = |count: usize| vec!["rate".to_owned(); count];
        let over = Some(OverLimit::Names { count: MOST_NAMES + 1, limit: MOST_NAMES });
        let Answer { response, over_limit } =
            get_parameters(&parameters, &GetParametersRequest { names: many(MOST_NAMES + 1) });
        assert_eq!((response.values.len(), over_limit), (0, over));
        let Answer { response, over_limit } =
            get_parameter_types(&parameters, &GetParameterTypesRequest { names: many(MOST_NAMES + 1) });
        assert_eq!((response.types.len(), over_limit), (0, over));
        let Answer { response, over_limit } =
            describe_parameters(&parameters, &DescribeParametersRequest { names: many(MOST_NAMES + 1) });
        assert_eq!((response.descriptors.len(), over_limit), (0, over));
        let Answer { response, over_limit } =
            get_parameters(&parameters, &GetParametersRequest { names: many(MOST_NAMES) });
        assert_eq!((response.values.len(), over_limit), (MOST_NAMES, None));
        let prefixes = ListParametersRequest { prefixes: many(MOST_PREFIXES + 1), depth: 1 };
        let Answer { response, over_limit } = list_parameters(&parameters, &prefixes);
        assert!(response.result.names.is_empty());
        assert_eq!(
            over_limit.map(|over| over.to_string()).as_deref(),
            Some("the request has 1001 prefixes, and the limit is 1000")
        );
    }

    #[test]
    fn answer_of_several_values_is_limited_in_bytes() {
        let parameters = parameters();
        let descriptor = msg::ParameterDescriptor { name: "map".into(), type_: 5, ..Default::default() };
        let value = vec![0_u8; MOST_BYTES + 1];
        parameters.declare(descriptor, Some(value.into()), false, None).unwrap();
        let get = |of: &[&str]| {
            let Answer { response, over_limit } =
                get_parameters(&parameters, &GetParametersRequest { names: names(of) });
            (response.values.len(), over_limit)
        };
        assert_eq!(get(&["map"]), (1, None), "a long value alone is read");
        assert_eq!(get(&["rate", "map"]), (0, Some(OverLimit::Bytes { limit: MOST_BYTES })));
    }

    #[test]
    fn too_many_parameters_are_refused_with_one_reason() {
        let parameters = parameters();
        let expected = "the request is for 20001 parameters, and the limit is 20000";
        let group = vec![message("rate", 5.0); MOST_NAMES + 1];
        let each = set_parameters(&parameters, &SetParametersRequest { parameters: group.clone() });
        assert!(each.over_limit.is_some());
        let reasons: Vec<&str> = each.response.results.iter().map(|result| &*result.reason).collect();
        assert_eq!(reasons, [expected]);
        let all = SetParametersAtomicallyRequest { parameters: group };
        let all = set_parameters_atomically(&parameters, &all).response.result;
        assert_eq!((all.successful, &*all.reason), (false, expected));
        assert_eq!(parameters.get("rate"), Ok(Some(1.0.into())));
    }

    #[test]
    fn reason_about_long_name_is_shortened() {
        let set = SetParametersRequest { parameters: vec![message(&"é".repeat(10_000), 1)] };
        let reason = set_parameters(&parameters(), &set).response.results.remove(0).reason;
        assert!(reason.len() <= LONGEST_REASON + 2 && reason.ends_with(".."), "{reason}");
    }
}
