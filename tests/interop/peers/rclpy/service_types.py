"""Services of the types in a file of JSON lines, each with the values of a request and a response. As `server` it serves each
type: it checks the requests and responds. As `client` it calls each service and checks the response. Prints `ready`, `TYPE`
for each call that passed, and in the end, as a client, `done`."""
from common import print_line
from samples import run


def serve(this, sample):
    expected, response = sample.message("request"), sample.message("response")

    def answer(request, _):
        assert request == expected, "{}: {}".format(sample.name, request)
        print_line(sample.name)
        return response

    return this.create_service(sample.type, sample.path, answer)


def use(this, sample, spin_once):
    client = this.create_client(sample.type, sample.path)
    while not client.service_is_ready():
        spin_once(0.05)
    future = client.call_async(sample.message("request"))
    while not future.done():
        spin_once(0.05)
    assert future.result() == sample.message("response"), "{}: {}".format(sample.name, future.result())
    this.destroy_client(client)
    print_line(sample.name)


run("service_types", serve, use)
