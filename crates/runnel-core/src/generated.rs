//! Macros that generated code calls. Only `runnel-gen` uses them: they may change with any version.

use crate::wire::EncodeErrorKind;

#[doc(hidden)]
pub use alloc::{string::String, vec::Vec};

/// Makes a message type: the structure, its view, and its [`Wire`](crate::wire::Wire) and
/// [`Message`](crate::Message) forms.
///
/// A type with only numbers (`plain`) is its own view; any other type has a view that borrows texts and arrays. The literal
/// before each type is the field's ROS name, which Rust may not allow. Marks in brackets after it have this order:
///
/// | Mark | Meaning |
/// |---|---|
/// | `ros1`, `ros2` | the field exists only in that generation; the other's encoding skips it |
/// | `most 3` | in ROS 2: at most 3 elements, or bytes of text |
/// | `texts 5` | in ROS 2: at most 5 bytes per text |
/// | `wide` | a `wstring`, which cannot be encoded in ROS 2 |
#[doc(hidden)]
#[macro_export]
macro_rules! message {
    (
        $(#[$attribute:meta])*
        plain $name:ident {
            $( $(#[$doc:meta])* $field:ident $wire_name:literal $([$($mark:tt)*])?: $type:ty, )*
        }
        $($names:tt)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name { $( $(#[$doc])* pub $field: $type, )* }

        $crate::message!(@wire $name, $name, { $($field $wire_name [$($($mark)*)?]: $type,)* });
        $crate::message!(@names $name, $($names)*);
    };
    (
        $(#[$attribute:meta])*
        $name:ident as $view:ident {
            $( $(#[$doc:meta])* $field:ident $wire_name:literal $([$($mark:tt)*])?: $type:ty, )*
        }
        $($names:tt)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $( $(#[$doc])* pub $field: $type, )* }

        #[doc = concat!("[`", stringify!($name), "`] as borrowed from received bytes or from a value.")]
        #[derive(Clone, Debug)]
        pub struct $view<'a> {
            $( $(#[$doc])* pub $field: <$type as $crate::wire::Wire>::View<'a>, )*
        }

        $crate::message!(@wire $name, $view<'a>, { $($field $wire_name [$($($mark)*)?]: $type,)* });
        $crate::message!(@names $name, $($names)*);
    };
    (
        @wire $name:ident, $view:ident $(<$lifetime:lifetime>)?,
        { $($field:ident $wire_name:literal [$($mark:tt)*]: $type:ty,)* }
    ) => {
        impl $name {
            /// In ROS 2 a message without fields has one that is zero.
            const IS_EMPTY_IN_ROS2: bool = !(false $(|| $crate::message!(@is_of_ros2 $($mark)*))*);
        }

        impl $crate::wire::Wire for $name {
            const MIN_LEN: usize = 0 $(+ $crate::message!(@min_len $type; $($mark)*))*;
            const FIXED_LEN: Option<usize> = {
                let len = Some(0);
                $( let len = $crate::wire::fixed_sum(len, $crate::message!(@fixed_len $type; $($mark)*)); )*
                len
            };
            const ZERO: Self = Self { $($field: <$type as $crate::wire::Wire>::ZERO,)* };
            const IS_CHECKED: bool = false $(|| $crate::message!(@is_checked $type; $($mark)*))*;
            type View<'a> = $view $(<$lifetime>)?;
            type Slice<'a> = $crate::wire::Seq<'a, Self>;

            #[inline]
            fn write<S: $crate::wire::Sink + ?Sized>(&self, out: &mut S) {
                $( $crate::message!(@write self.$field, out; $($mark)*); )*
                if Self::IS_EMPTY_IN_ROS2 && !out.encoding().is_ros1() {
                    out.put(&[0]);
                }
            }

            fn check(&self) -> ::core::result::Result<(), $crate::wire::EncodeError> {
                if <Self as $crate::wire::Wire>::IS_CHECKED {
                    $( $crate::message!(@check self.$field, $wire_name; $($mark)*); )*
                }
                Ok(())
            }

            fn read_into(
                &mut self,
                from: &mut $crate::wire::Reader<'_>,
            ) -> ::core::result::Result<(), $crate::wire::DecodeError> {
                $( $crate::message!(@read_into self.$field, from, $type, $wire_name; $($mark)*); )*
                if Self::IS_EMPTY_IN_ROS2 && !from.encoding().is_ros1() {
                    from.take(1)?;
                }
                Ok(())
            }

            fn read_view<'a>(
                from: &mut $crate::wire::Reader<'a>,
            ) -> ::core::result::Result<Self::View<'a>, $crate::wire::DecodeError> {
                if Self::IS_EMPTY_IN_ROS2 && !from.encoding().is_ros1() {
                    from.take(1)?;
                }
                Ok($view {
                    $( $field: $crate::message!(@read_view from, $type, $wire_name; $($mark)*), )*
                })
            }

            fn view(&self) -> Self::View<'_> {
                $view { $( $field: $crate::wire::Wire::view(&self.$field), )* }
            }

            $crate::message!(@try_clone $($lifetime)?; $($field)*);

            fn read_slice<'a>(
                from: &mut $crate::wire::Reader<'a>,
                count: usize,
            ) -> ::core::result::Result<Self::Slice<'a>, $crate::wire::DecodeError> {
                $crate::wire::Seq::read(from, count)
            }

            fn slice(values: &[Self]) -> Self::Slice<'_> {
                $crate::wire::Seq::from_values(values)
            }
        }
    };

    (@try_clone; $($field:ident)*) => {
        #[inline]
        fn try_clone(&self) -> ::core::result::Result<Self, $crate::wire::NoMemory> {
            Ok(*self)
        }

        fn try_clone_all(
            values: &[Self],
        ) -> ::core::result::Result<$crate::generated::Vec<Self>, $crate::wire::NoMemory> {
            $crate::wire::try_copy_all(values)
        }
    };
    (@try_clone $lifetime:lifetime; $($field:ident)*) => {
        fn try_clone(&self) -> ::core::result::Result<Self, $crate::wire::NoMemory> {
            Ok(Self { $( $field: $crate::wire::Wire::try_clone(&self.$field)?, )* })
        }
    };

    (@is_of_ros2 ros1 $($rest:tt)*) => { false };
    (@is_of_ros2 $($rest:tt)*) => { true };

    (@min_len $type:ty; ros1 $($rest:tt)*) => { 0 };
    (@min_len $type:ty; ros2 $($rest:tt)*) => { 0 };
    (@min_len $type:ty; $($rest:tt)*) => { <$type as $crate::wire::Wire>::MIN_LEN };

    (@fixed_len $type:ty; ros2 $($rest:tt)*) => { Some(0) };
    (@fixed_len $type:ty; $($rest:tt)*) => { <$type as $crate::wire::Wire>::FIXED_LEN };

    (@is_checked $type:ty; ros1 $($rest:tt)*) => { false };
    (@is_checked $type:ty; ros2 $($rest:tt)*) => { $crate::message!(@is_checked $type; $($rest)*) };
    (@is_checked $type:ty;) => { <$type as $crate::wire::Wire>::IS_CHECKED };
    (@is_checked $type:ty; $($rest:tt)*) => { true };

    (@write $value:expr, $out:ident; ros1 $($rest:tt)*) => {
        if $out.encoding().is_ros1() {
            $crate::wire::Wire::write(&$value, $out);
        }
    };
    (@write $value:expr, $out:ident; ros2 $($rest:tt)*) => {
        if !$out.encoding().is_ros1() {
            $crate::wire::Wire::write(&$value, $out);
        }
    };
    (@write $value:expr, $out:ident; $($rest:tt)*) => { $crate::wire::Wire::write(&$value, $out); };

    (@check $value:expr, $name:literal; ros1 $($rest:tt)*) => {};
    (@check $value:expr, $name:literal; ros2 $($rest:tt)*) => { $crate::message!(@check $value, $name; $($rest)*) };
    (@check $value:expr, $name:literal; $($rest:tt)*) => {
        $crate::message!(@bounds $value, $crate::wire::EncodeError, $name; $($rest)*);
        $crate::wire::Wire::check(&$value).map_err(|error| error.within($name))?
    };

    (@bounds $value:expr, $error:ty, $name:literal;) => {};
    (@bounds $value:expr, $error:ty, $name:literal; most $most:literal $($rest:tt)*) => {
        $crate::generated::at_most($most, $value.len()).map_err(|kind| <$error>::from(kind).within($name))?;
        $crate::message!(@bounds $value, $error, $name; $($rest)*)
    };
    (@bounds $value:expr, $error:ty, $name:literal; texts $most:literal) => {
        for text in $value.iter() {
            $crate::generated::at_most($most, text.len()).map_err(|kind| <$error>::from(kind).within($name))?;
        }
    };
    (@bounds $value:expr, $error:ty, $name:literal; wide) => {
        $crate::generated::no_wide_text().map_err(|kind| <$error>::from(kind).within($name))?
    };

    (@read_into $value:expr, $from:ident, $type:ty, $name:literal; ros1 $($rest:tt)*) => {
        if $from.encoding().is_ros1() {
            $crate::message!(@read_into $value, $from, $type, $name;);
        } else {
            $value = <$type as $crate::wire::Wire>::ZERO;
        }
    };
    (@read_into $value:expr, $from:ident, $type:ty, $name:literal; ros2 $($rest:tt)*) => {
        if $from.encoding().is_ros1() {
            $value = <$type as $crate::wire::Wire>::ZERO;
        } else {
            $crate::message!(@read_into $value, $from, $type, $name; $($rest)*);
        }
    };
    (@read_into $value:expr, $from:ident, $type:ty, $name:literal;) => {
        $crate::wire::Wire::read_into(&mut $value, $from).map_err(|error| error.within($name))?
    };
    (@read_into $value:expr, $from:ident, $type:ty, $name:literal; $($rest:tt)*) => {
        $crate::wire::Wire::read_into(&mut $value, $from).map_err(|error| error.within($name))?;
        if !$from.encoding().is_ros1() {
            $crate::message!(@bounds $value, $crate::wire::DecodeError, $name; $($rest)*);
        }
    };

    (@zero_view $type:ty) => {{
        const ZERO: &$type = &<$type as $crate::wire::Wire>::ZERO;
        $crate::wire::Wire::view(ZERO)
    }};
    (@read_view $from:ident, $type:ty, $name:literal; ros1 $($rest:tt)*) => {
        if $from.encoding().is_ros1() {
            $crate::message!(@read_view $from, $type, $name;)
        } else {
            $crate::message!(@zero_view $type)
        }
    };
    (@read_view $from:ident, $type:ty, $name:literal; ros2 $($rest:tt)*) => {
        if $from.encoding().is_ros1() {
            $crate::message!(@zero_view $type)
        } else {
            $crate::message!(@read_view $from, $type, $name; $($rest)*)
        }
    };
    (@read_view $from:ident, $type:ty, $name:literal;) => {
        <$type as $crate::wire::Wire>::read_view($from).map_err(|error| error.within($name))?
    };
    (@read_view $from:ident, $type:ty, $name:literal; $($rest:tt)*) => {{
        let view = $crate::message!(@read_view $from, $type, $name;);
        if !$from.encoding().is_ros1() {
            $crate::message!(@bounds view, $crate::wire::DecodeError, $name; $($rest)*);
        }
        view
    }};

    (
        @names $name:ident, $ros_name:literal, $md5:literal, header: $has_header:literal, $definition:literal,
        ros2: $ros2_name:literal, $dds_name:literal, $rihs01:literal $(, definition: $ros2_definition:literal)?
        $(, tail: $($tail:ident).+, element: $element:literal, after: $after:literal)?
        $(, ros2_tail: $($tail2:ident).+, element: $element2:literal, after: $after2:literal)?
    ) => {
        impl $crate::Message for $name {
            const TYPE: &'static str = $ros_name;
            const MD5: &'static str = $md5;
            const DEFINITION: &'static str = $definition;
            const HAS_HEADER: bool = $has_header;
            const ROS2_TYPE: &'static str = $ros2_name;
            const DDS_TYPE: &'static str = $dds_name;
            const RIHS01: &'static str = $rihs01;
            const ROS2_DEFINITION: &'static str = $crate::message!(@ros2_definition $definition $(, $ros2_definition)?);
            const TAIL: ::core::option::Option<$crate::message::Tail> =
                $crate::message!(@tail $($element, $after)?);
            const ROS2_TAIL: ::core::option::Option<$crate::message::Tail> =
                $crate::message!(@tail $($element2, $after2)?);

            fn tail_len(&self, encoding: $crate::wire::Encoding) -> usize {
                if encoding.is_ros1() { 0 $(+ self.$($tail).+.len())? } else { 0 $(+ self.$($tail2).+.len())? }
            }
        }
    };
    (@ros2_definition $both:literal) => { $both };
    (@ros2_definition $ros1:literal, $ros2:literal) => { $ros2 };
    (@tail) => { ::core::option::Option::None };
    (@tail $element:literal, $after:literal) => {
        ::core::option::Option::Some($crate::message::Tail { element: $element, after: $after })
    };
}

/// Checks a length against the most that a type allows in ROS 2.
///
/// # Errors
/// If it is longer.
#[doc(hidden)]
pub fn at_most(bound: usize, len: usize) -> Result<(), EncodeErrorKind> {
    if len > bound { Err(EncodeErrorKind::BeyondBound { len, bound }) } else { Ok(()) }
}

/// The error for a `wstring` in ROS 2.
///
/// # Errors
/// Always.
#[doc(hidden)]
pub fn no_wide_text() -> Result<(), EncodeErrorKind> {
    Err(EncodeErrorKind::WideText)
}

/// Makes the type that names a service.
#[doc(hidden)]
#[macro_export]
macro_rules! service {
    (
        $(#[$attribute:meta])*
        $name:ident($request:ident) -> $response:ident, $ros_name:literal, $md5:literal,
        ros2: $ros2_name:literal, $rihs01:literal
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl $crate::Service for $name {
            type Request = $request;
            type Response = $response;
            const TYPE: &'static str = $ros_name;
            const MD5: &'static str = $md5;
            const ROS2_TYPE: &'static str = $ros2_name;
            const RIHS01: &'static str = $rihs01;
        }
    };
}

/// Makes an action of the messages and services that each generation derives from it.
#[doc(hidden)]
#[macro_export]
macro_rules! action {
    (
        $name:ident($goal:ident, $result:ident, $feedback:ident),
        $action_goal:ident, $action_result:ident, $action_feedback:ident, $ros_name:literal,
        ros2: $send_goal:ident, $get_result:ident, $feedback_message:ident, $ros2_name:literal, $rihs01:literal
    ) => {
        impl $crate::Action for $name {
            type Goal = $goal;
            type Result = $result;
            type Feedback = $feedback;
            type ActionGoal = $action_goal;
            type ActionResult = $action_result;
            type ActionFeedback = $action_feedback;
            type SendGoal = $send_goal;
            type GetResult = $get_result;
            type FeedbackMessage = $feedback_message;
            const NAME: &'static str = $ros_name;
            const ROS2_NAME: &'static str = $ros2_name;
            const ROS2_HASH: &'static str = $rihs01;
        }
    };
}
