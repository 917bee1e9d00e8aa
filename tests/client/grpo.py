"""GRPO as TRL's users run it. The model's vocabulary has two whole answers, a right and a wrong one, from the file `answers.json`."""

import json
from pathlib import Path

import torch
from datasets import Dataset
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer
from trl_reward import reward_func

torch.manual_seed(1)
words = ["<pad>", "<eos>", "Answer", *json.loads(Path("answers.json").read_text(encoding="utf-8"))]
vocabulary = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token="<pad>"))
tokenizer = PreTrainedTokenizerFast(tokenizer_object=vocabulary, pad_token="<pad>", eos_token="<eos>")  # type: ignore[no-untyped-call]
size = LlamaConfig(
    vocab_size=len(words),
    pad_token_id=0,
    eos_token_id=1,
    hidden_size=16,
    intermediate_size=16,
    num_hidden_layers=1,
    num_attention_heads=1,
    num_key_value_heads=1,
)
settings = GRPOConfig(
    output_dir="trained",
    use_cpu=True,
    max_steps=2,
    logging_steps=1,
    per_device_train_batch_size=16,
    num_generations=16,
    max_completion_length=1,
    log_completions=True,
    report_to=[],
)
trainer = GRPOTrainer(
    model=LlamaForCausalLM(size),
    processing_class=tokenizer,
    reward_funcs=reward_func,
    train_dataset=Dataset.from_list([{"prompt": "Answer", "problem": "softmax"}] * 4),
    args=settings,
)
trainer.train()
Path("log.json").write_text(json.dumps(trainer.state.log_history), encoding="utf-8")
