"""A node with the parameters rate (double, 1.0 to 100.0, described), limits.low (integer), fixed (read-only text), any
(dynamic integer) and names (texts). It refuses an odd limits.low. Prints `ready`, and `rate VALUE` when that changes."""
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult

from common import node, print_line


def accept(parameters):
    for parameter in parameters:
        if parameter.name == "limits.low" and parameter.value % 2:
            return SetParametersResult(successful=False, reason="{} is odd".format(parameter.value))
        if parameter.name == "rate":
            print_line("rate {}".format(parameter.value))
    return SetParametersResult(successful=True)


with node("parameter_node", start_parameter_services=True) as (this, turn):
    span = FloatingPointRange(from_value=1.0, to_value=100.0, step=0.5)
    this.declare_parameter("rate", 10.0, ParameterDescriptor(description="Hz", floating_point_range=[span]))
    this.declare_parameter("limits.low", 2)
    this.declare_parameter("fixed", "text", ParameterDescriptor(read_only=True))
    this.declare_parameter("any", 1, ParameterDescriptor(dynamic_typing=True))
    this.declare_parameter("names", ["a", "b"])
    this.add_on_set_parameters_callback(accept)
    print_line("ready")
    while True:
        turn()
