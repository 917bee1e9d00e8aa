"""Which machines of a cluster are judged on; the machines are descriptions of some."""

import hashlib
from dataclasses import replace

import pytest

from evaluator.machine.devices import Device, DeviceError
from evaluator.ray.cluster import ClusterError, choose, join
from evaluator.ray.engine import Shares
from evaluator.ray.node import Node, Software

pytestmark = pytest.mark.slow(3)

OWN = Software.here()
CPU = Device("cpu", "AMD EPYC", "cpu")


def node(name: str, *gpus: str, cpus: float = 16.0, software: Software = OWN) -> Node:
    found = tuple(Device(f"cuda:{number}", gpu, f"GPU-{name}-{number}", (9, 0)) for number, gpu in enumerate(gpus))
    return Node(f"{name}-id", "10.0.0.1", name, software, CPU, found, cpus, len(gpus), 128 << 30)


HEAD = node("head", cpus=0.0)
ONE, TWO = node("one", "NVIDIA H200", "NVIDIA H200"), node("two", "NVIDIA H200", cpus=8.0)
OLD = node("old", "NVIDIA A100-SXM4-80GB")


def test_gpus_come_before_processors_and_all_of_them_are_used() -> None:
    choice = choose([HEAD, ONE, TWO], "auto", None)
    assert (choice.device.name, len(choice.devices), choice.stands_in) == ("NVIDIA H200", 3, False)
    assert (choice.nodes, choice.others, choice.machines) == ((ONE, TWO), (HEAD,), 2)
    assert [device.unique_id for device in choice.devices] == ["GPU-one-0", "GPU-one-1", "GPU-two-0"]


def test_of_several_models_one_has_to_be_named() -> None:
    with pytest.raises(ClusterError, match=r"1 × NVIDIA A100-SXM4-80GB, 3 × NVIDIA H200: choose one with --device-kind"):
        choose([ONE, TWO, OLD], "auto", None)
    assert choose([ONE, TWO, OLD], "cuda", "h200").nodes == (ONE, TWO)
    assert choose([ONE, TWO, OLD], "auto", "A100").nodes == (OLD,)
    with pytest.raises(ClusterError, match="choose one with --device-kind"):
        choose([ONE, OLD], "auto", "nvidia")
    with pytest.raises(ClusterError, match=r"no device with 'B300' in its name; it has 1 × NVIDIA A100-SXM4-80GB, 2 × NVIDIA H200"):
        choose([ONE, OLD], "auto", "B300")


def test_gpus_that_ray_has_not_to_give_are_not_there() -> None:
    choice = choose([replace(ONE, gpu_count=1), replace(TWO, gpu_count=0)], "auto", None)
    assert len(choice.devices) == 1
    with pytest.raises(ClusterError, match="the cluster has no GPU"):
        choose([replace(ONE, gpu_count=0)], "cuda", None)


def test_processors_stand_in_for_gpus_or_were_asked_for() -> None:
    plain = [HEAD, node("a"), node("b")]
    assert choose(plain, "auto", None).stands_in and not choose(plain, "cpu", None).stands_in
    assert [each.name for each in choose(plain, "cpu", "epyc").nodes] == ["a", "b"]
    assert len(choose([HEAD, ONE], "cpu", None).devices) == 1
    with pytest.raises(ClusterError, match="no machine of the Ray cluster offers a CPU"):
        choose([HEAD], "cpu", None)


def test_a_gpu_by_its_number_is_no_clusters() -> None:
    with pytest.raises(DeviceError, match="--device-kind"):
        choose([ONE], "cuda:1", None)


@pytest.mark.parametrize(
    ("software", "reason"),
    [
        (replace(OWN, evaluator="0.1.0"), r"one \(10.0.0.1, node one-id\).*its evaluator is 0\.1\.0, not"),
        (replace(OWN, code_sha256="0"), "but other files"),
        (replace(OWN, torch="1.0.0+cu99"), r"its PyTorch is 1\.0\.0\+cu99, not"),
        (replace(OWN, torch=None), "it has no PyTorch"),
    ],
)
def test_a_machine_that_would_judge_otherwise_is_refused(software: Software, reason: str) -> None:
    with pytest.raises(ClusterError, match=reason):
        choose([replace(ONE, software=software)], "auto", None)


def test_a_machines_software_is_told_by_its_files() -> None:
    assert OWN.code_sha256 != hashlib.sha256().hexdigest(), "a hash of no file is alike everywhere"


def test_pytorch_may_be_built_otherwise_than_here_and_yet_for_all_that_judge_alike() -> None:
    assert OWN.torch is not None
    other = replace(OWN, torch=OWN.torch.partition("+")[0] + "+cu999")
    assert choose([replace(ONE, software=other), replace(TWO, software=other)], "auto", None).software == other
    with pytest.raises(ClusterError, match="different builds of PyTorch"):
        choose([replace(ONE, software=other), replace(TWO, software=replace(OWN, torch=OWN.torch.partition("+")[0]))], "auto", None)


def test_machines_that_only_build_need_the_same_software() -> None:
    builder, other = node("builder"), node("other", software=replace(OWN, code_sha256="0"))
    assert choose([TWO, builder, other, HEAD], "auto", None).machines == 2


def test_hosts_share_half_of_the_least_machine() -> None:
    shares = Shares.of(choose([ONE, TWO], "auto", None))
    assert (shares.cpus, shares.gpus, shares.most_on_a_machine) == (2.0, 1, 2)
    assert shares.memory_bytes == 32 << 30
    small = Shares.of(choose([node("small", cpus=1.0), node("large", cpus=64.0)], "cpu", None))
    assert (small.cpus, small.gpus) == (0.5, 0)
    assert small.memory_bytes * 2 > 128 << 30  # no machine has room for two


def test_ray_is_not_joined_as_a_client() -> None:
    with pytest.raises(ClusterError, match="HOST:PORT"):
        join("ray://10.0.0.1:10001")
